/* Made by tools/known-hashes.lua. Do not edit. */
#include "db/known_hashes.h"

const mlaf_known_hash mlaf_known_hashes[] = {
    {"002996cb062a4404", "ece0dca14dd127820dc9f8b87c3d527d83a5e9609ec88602edc11714648e7ea9"}, /* mla_v_out/dot sm_90a */
    {"0099333f06578fb9", "5a8eaec787fa95b8a42dfafabdb8c7e7cdb72a51f4d09e96650f2ea4ed3cb06c"}, /* concat_keys gfx942 */
    {"017affbcc229867c", "7fa0176f22bb6d0efa4b67cb5ab99f1b9b45e7cba6dac83733cd8fe602deb816"}, /* mla_q_b/ring_fp8 sm_90a */
    {"0180b680018f5e05", "be2d6c6866b1736597fe976e67c9d046f506ddfad628b06f5af6ada2651858d9"}, /* mla_qkv_a/stream sm_90a */
    {"0193718d77882a09", "9d9ee190057fed848c1c4d5e68098fc1087a2d709bf6f0f5a93f479156e8d64b"}, /* mla_gather_kv_b/mfma gfx950 */
    {"021a651004f64321", "06348c898fec4bbb34b97d827e696a2d2b0713a094320a633154169fb4c24ca2"}, /* read_ceiling gfx942 */
    {"0240b5582b0c94b0", "590b9a9f4d6dd6da6665524cbccc208bf15cb2b4fa80bdd3a42046c73c2b2c89"}, /* mla_qkv_a/mfma gfx942 */
    {"0241ba101a483a8e", "891ab5dac1183ba8fa27245071838f5c0bee9512246ad483da3bb45e02d224b3"},
      /* mla_decode/mfma_reg_cache gfx90a */
    {"02accdfde69cc31f", "807616b84f0ba6afa03be50b1c9a9734f0296057f4dfb35b496fd5adafde8902"}, /* mla_q_absorb/aside sm_90a */
    {"02b66463aea36021", "2c25fa178da6c314d3cd453c83783692954aecb1c44451574f0f9be00eee424b"}, /* mla_q_b/dot sm_90a */
    {"0392892df182e8ef", "d94993a89dd732d93c40e5e6cf2d198e5fa263e665444ed7b535c6325bc93639"}, /* mla_qkv_a/dot gfx942 */
    {"03e1df44ca5f101f", "ec7a737b99016f177a08d8663e07be13a14db38296ac675266266e64fab404aa"}, /* mla_prefill/sm90 sm_90a */
    {"05f87ce0ecf64725", "41d4b08cceeb496f9a68b24717dfd0aaf6b569bc229f357397fdea1597763b96"}, /* mla_q_b/mfma gfx942 */
    {"061c62dcf9d659fd", "bc6ef43e5c6ca3e2bd5b3978e3dc36265766a752fc2147620940c28225e0ff87"}, /* mla_o_proj/dot gfx942 */
    {"06996c4ccaf63ae7", "f43858a4120013c83dd1ad506b7d48afa8b87cf8bea5f70cf66b037755de47ad"}, /* mla_q_b/mma_append sm_90a */
    {"06b879cd31c4cde3", "1d70ec932e74ee10f0f31b72bf42e1a3707375568681069751c8d7752f13601f"}, /* mla_append/rows sm_90a */
    {"06f1151bbc1c9586", "494b80d3e06132dbd515ed2b0d48de9342bb3e2a18d1b3e68055a59b5552dd6d"}, /* mla_v_out/stream sm_90a */
    {"06f67ddb30531914", "3816b798fb7718498e6975877e0512f891d0e754c43777b5e5149d28e2b4f235"}, /* read_ceiling sm_90a */
    {"0702f14a262707b2", "e5edd5a28f1fb4cd14df0697491cf4153d105e0b5b3dcea280396ce44fe703cf"}, /* mla_decode/sm90_mid sm_90a */
    {"0783966d0b0829ef", "df905d77db4c92f216d192938ec262a60e1e89910528e42d347a78c3a284eb11"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"08b11b5748096b6c", "dc6713dae89fb037f83ab39d31d7b30648b52a553782c9a0af3e6069254e6330"}, /* mla_merge/rows sm_90a */
    {"08badd25596528c5", "66f35f4be7a59a912cd30722a0733d3722fc77af4778ec15772a7787c12f4c0b"}, /* soak_compare sm_90a */
    {"0977344f2929ac44", "e9bcc61e3792c10a05de072996965862ea38798f257027ad1476169756301015"}, /* mla_decode/mma sm_90a */
    {"09c4aebb9006814a", "2cb4c1ea5bb94f8202d11649c8df63ccd47c620bb5e535a373009248bd1aef35"},
      /* mla_decode/mfma_reg_cache gfx942 */
    {"09de5d0cc90d07d3", "06c9b90d6c1c41c8e5dd383ddebf5ee8405a489c81f60add9e9be5c5954beed1"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"0a0e6971cfb1944a", "dc00cd70cd950e785c9ae8bfa191b7215473afd353a430b6f4b93765209834da"}, /* mla_v_out/staged gfx942 */
    {"0a716342774df22d", "01db16e81fedcd6a34bc33bafdf07321feb5af633a9ef22f840441a22428ff12"}, /* mla_q_absorb/stay gfx942 */
    {"0afa9be00e03cc50", "31fb75af273c05a8b8246d05ce0491392177bfa8f3cea1a70f4efbb122ff4b5d"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"0b4e3499fe719061", "e3bbc9f9e5c7b6ab67254ca7476bd6766ba77bc6cdf42912078884049b170403"}, /* mla_q_absorb/aside gfx942 */
    {"0b7a4a4586db5b71", "ece0dca14dd127820dc9f8b87c3d527d83a5e9609ec88602edc11714648e7ea9"}, /* mla_v_out/dot sm_90a */
    {"0c315a3782c861a2", "1d70ec932e74ee10f0f31b72bf42e1a3707375568681069751c8d7752f13601f"}, /* mla_append/rows sm_90a */
    {"0d4fcf8e1278bea3", "2657e5730b1907bcf26c0cf2270ea833af1bce1e562561a5a3781c8c4129d309"}, /* mla_q_b/mma_fp8 sm_90a */
    {"0d86294805a38a5e", "2e18df580e2dd7f6b0af262e6caa5b29f74f0b8f52b4ed5d85b6358b277000d7"}, /* mla_decode/mma_cache sm_80 */
    {"0d8c0ea030e4951c", "e3bbc9f9e5c7b6ab67254ca7476bd6766ba77bc6cdf42912078884049b170403"}, /* mla_q_absorb/aside gfx942 */
    {"0e2a6d59b74ede44", "c6c59810403206d24e8f4a43b54c3cd20444ada4ee17cfe6eb8fc64be4ccb6e6"}, /* mla_v_out/dot_fp8 sm_90a */
    {"0e8ae991bf5b72f3", "13baa56743e69150fc9bbc2a51ff58cb8ebeee3ad0aca45fa2dcd5cb6b23ccde"}, /* mla_v_out/mma sm_80 */
    {"0f1bd9e6ead45894", "eef774beba22cb4b897e8fee0bde7fb98e98c5e4add6d629bb2f68d44e1d67b2"}, /* block_tables sm_90a */
    {"0fa9c84ce3ce982b", "fea1807e9a788193d44cde41469d4a601fe32f122a7c9cc51d8fff1e8d15ac2f"}, /* mla_q_absorb/stream sm_90a */
    {"1032eb98904ced0f", "be2d6c6866b1736597fe976e67c9d046f506ddfad628b06f5af6ada2651858d9"}, /* mla_qkv_a/stream sm_90a */
    {"10d1b6e758cd7d12", "31fb75af273c05a8b8246d05ce0491392177bfa8f3cea1a70f4efbb122ff4b5d"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"110f024ba5cba47e", "65c9f6fb2555017901b59543f5d34fcaad96f48b72a3ed35d840ae5ea2b9c533"}, /* mla_q_b/staged gfx942 */
    {"124103d29b91adf7", "c0d826021c5dd77f7e76cd839140bd34bffdcbfe57bdb948377d51dfeba99b1c"}, /* mla_o_proj/ring sm_90a */
    {"124d5f4d1e193150", "754be7a04aca1be132ae6f04ab4ed28c8b5ecf8bc18ad53d889efb07e2da4523"}, /* mla_q_absorb/mma sm_90a */
    {"129814ac9fdb7a0c", "31fb75af273c05a8b8246d05ce0491392177bfa8f3cea1a70f4efbb122ff4b5d"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"12ac08fd6823ffc9", "722646d519e93b4490569bfdaec9a21c8361fb01faa6bc83d9e1e459993fd7fe"}, /* mla_v_out/ring_fp8 sm_90a */
    {"12d1a04c0f40a3f6", "42a8d919388844cd87b7f8a2847a9fa745d728bffb45615dbdccdad60a1f3a44"}, /* mla_q_b/mma sm_80 */
    {"12e5d67afa31e6a3", "98d426be0f93bfb9fbf3c0ea1005287eb56e5ef829b4a4fcdcca482fa60d478d"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"13386f34948aab94", "8c678a27eba9cfbaba54ac01be783b16d8c61fe2572ce3bee8577017d7ba6434"},
      /* mla_decode/mfma_reg_cache gfx950 */
    {"152bef3a1df0c1d9", "486d3421bf0c20f63278784fdda5a433c33bda33015d811687bc5607bd9d0b6f"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"15b6358e0e9c9fdc", "2c25fa178da6c314d3cd453c83783692954aecb1c44451574f0f9be00eee424b"}, /* mla_q_b/dot sm_90a */
    {"1693b638a52c50c1", "2a186c7ff4d590554678f2dccda355efc37c78d644c3c9a6b6870a025eb4e132"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"16fa6ea59c0bed1e", "eada59c16420148b837becd507355c15d598018ce06719e64151effd7be29422"}, /* block_tables gfx942 */
    {"1757065e363eac16", "fec4d12a908db47f3da0836e2d8ffef240f5c35bbf90960fa04522e1ebf06f17"}, /* mla_decode/combine_warp sm_90a */
    {"17933c3339f4c775", "31fb75af273c05a8b8246d05ce0491392177bfa8f3cea1a70f4efbb122ff4b5d"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"17bad060b4cafc04", "f3c2bb01712129aff0256da2de182db4fca2549c844f80e34b6d26caa1add49d"}, /* mla_q_b/stream_append sm_90a */
    {"18120d6e3c8b31e2", "c78bb23343f3fb1ad2e7cfb72c153be548640ddcbc190d16e39e542a9ca3ac1e"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"193edb37cce5f843", "aecc2560101f5ae7d382a9fea212ecef22fa893bf77e3eee76f5b697cc8652ba"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"1a26fa41ffe637c9", "8b609e1fb32ab0eef26ff68051cffc72e2579ebcf4c5815b1401e9d432db9c4e"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"1a411de1af9f59e8", "1d36cb435ba680262aea281ad8b7ebfce32b5283062b2e0863af723e130c403b"}, /* mla_prefill/mma sm_90a */
    {"1bdc529c9c3ed776", "f421c079ab57ec3eb91e0b534fde5bbec4b58c99b0d42f1cc10ef648458f32a9"}, /* mla_o_proj/dot sm_90a */
    {"1bdeef7653f66f40", "73c9c117518bc867052f857277a91d2f28b6b36db73508e68046fcf5611a4821"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"1c6f3fdfd0571626", "3d640fcbd4fadacb9caa6468b85e6612a46d17b299af0a738d7694e99a2f217d"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"1c7b512e799f360d", "fd195cf936da9311f98da840b516f75e1a7f846385883a8949386f0e70992985"}, /* mla_decode/mfma_reg gfx90a */
    {"1cdfdc1bb30c0376", "e9bcc61e3792c10a05de072996965862ea38798f257027ad1476169756301015"}, /* mla_decode/mma sm_90a */
    {"1e1790e7e666b423", "d04f858844f434dc157f10653c21842a69211706016d536b5360f044e1ebfa3e"}, /* mla_decode/mma_rotate sm_80 */
    {"1e34c3c53d53a799", "3fa91a59f51dfed255cc4d5a66316c8abc00b5ab5eea18ff6d4c0e98e4f3d5f3"}, /* mla_q_b/stream_fp8 sm_90a */
    {"1e36ed0afa8fe3e2", "beeb95ee0b60daf5b0832e3c079e04f5027be036a8d3981e230a2de1d56ed200"}, /* mla_q_scale/rows sm_90a */
    {"1e6347fcfe15e327", "754be7a04aca1be132ae6f04ab4ed28c8b5ecf8bc18ad53d889efb07e2da4523"}, /* mla_q_absorb/mma sm_90a */
    {"1f58124c6ff7f7c2", "a33c777860ab0119f1746336a694d58f71d5ce7544b1170f254a7316dcb92907"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"1f7c88343551ecac", "c41e49c8efe6a0929c9af12a9da386dfa86fa1cca4fd3aea3a7c0bf73394740d"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"1f8628cf6c7451a1", "c4b513363c26a7872525901f98630f7543bfa1f62158b393a7015f315d2c766d"}, /* mla_v_out/wide_fp8 sm_90a */
    {"1fb0c4c79d126e72", "b22788d9f17d15187538f4b017e99d8f26bdd7d3462b91fb52a5aed79cc70a6a"}, /* mla_q_absorb/dot gfx942 */
    {"20896c4cc1bf7a43", "d4e8354a7e071e2b1053083e0f60635e591febcacb86fa75d6c6311b2f1ec15b"}, /* mla_q_b/staged_append gfx942 */
    {"20b56631feabfb0f", "4c6c4aa9ff62065a78bee29d8e91a7d4e6ef8754716a54ebc53b989d75106006"}, /* mla_decode/mma_cache sm_90a */
    {"20b96f79c58f6588", "8242ab23b5d581b79503caad3c035eca73c166f8fa6d8eea44ae52dd25d73b78"}, /* mla_prefill/mma_fp8 sm_89 */
    {"214aa75e4e9a90e8", "81e11b52124556c714ea05522220f8b3ede04fc3f4cc5459102d0657dee995b2"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"21d0e385e84219b9", "c6c59810403206d24e8f4a43b54c3cd20444ada4ee17cfe6eb8fc64be4ccb6e6"}, /* mla_v_out/dot_fp8 sm_90a */
    {"221f20d2b6ef96e9", "01ce240db1c61bc143d7ac0982a2bdb58e75d572701a2e6661e63fc52e3347ad"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"222d69e6ccc6b7bc", "3bc91d48811b986303f3098758bba94664a58f71a2b1c5bde82b680f654eb6fd"}, /* mla_decode/mfma_lds gfx942 */
    {"2256f91f8eaf74ab", "1c242011597c6ee314c1763ad71250898c4019c79c372bd35d89a8cc67bc266d"}, /* mla_qkv_a/staged gfx942 */
    {"22d6afe17a5541c5", "745db3110b34f0cccadbcf3e00541007745e1051fedf9ab6417a71de185ebb73"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"2323b7bdde0c2738", "2657e5730b1907bcf26c0cf2270ea833af1bce1e562561a5a3781c8c4129d309"}, /* mla_q_b/mma_fp8 sm_90a */
    {"233529f1fccec677", "32980e8b28c0308cbf2947df7a4d188f4d4b0c893fa53aa5f8e87d96c8f643d7"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"23455190dd08e62c", "9702876c9420fa6b0e1488a73e4cbe3d92036755047cc996f70732376092cd25"}, /* mla_q_absorb/mfma gfx942 */
    {"23e0c08cae209cfb", "31fb75af273c05a8b8246d05ce0491392177bfa8f3cea1a70f4efbb122ff4b5d"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"23fb60230864c019", "294f9bcd3722f4d6a5c3e30e92842d730dc269edd529f98767a8433729dd3688"}, /* mla_qkv_a/dot sm_90a */
    {"243cece82fadce15", "67f061dadf34617b5c89109845c55cdda9dcc85f609eb9e094cede0ec2f8c3ab"}, /* mla_decode/mma sm_80 */
    {"24890a82b3314e99", "494b80d3e06132dbd515ed2b0d48de9342bb3e2a18d1b3e68055a59b5552dd6d"}, /* mla_v_out/stream sm_90a */
    {"2615e6e1dfe6bb97", "f30a6806058b83bc477ea3d634fafe59493c447f1fc50ab2aa26a3cd33dbe6cc"}, /* mla_o_proj/stream sm_90a */
    {"2636748d063f8cfb", "2657e5730b1907bcf26c0cf2270ea833af1bce1e562561a5a3781c8c4129d309"}, /* mla_q_b/mma_fp8 sm_90a */
    {"267d9d06afab9810", "9e17fe976c97eca9926d9e95175b699b0886269b8f53d2333a97b0fde91f3024"}, /* mla_append/rows gfx942 */
    {"268ca0c6443a6453", "025edceb24d8be3e35a4565c7648a33b73afa911a08240187ba60c66b30dfc40"}, /* mla_dequant/rows sm_90a */
    {"26950d772c2ea6e8", "7fa0176f22bb6d0efa4b67cb5ab99f1b9b45e7cba6dac83733cd8fe602deb816"}, /* mla_q_b/ring_fp8 sm_90a */
    {"269d231920b671c3", "3d640fcbd4fadacb9caa6468b85e6612a46d17b299af0a738d7694e99a2f217d"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"26cd093462e3d891", "98d426be0f93bfb9fbf3c0ea1005287eb56e5ef829b4a4fcdcca482fa60d478d"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"26ea11888539f4ab", "eaf6efac8227d8ca045aa6e40a1c91c00e257d365d720f808234ac8c08afecaa"}, /* mla_q_b/ring_append sm_90a */
    {"26f078ba08100f05", "df905d77db4c92f216d192938ec262a60e1e89910528e42d347a78c3a284eb11"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"27532d1506ead32b", "40c45e1a4d1167983bde0a4184d29178c2f7d016fc938ee4a09d491550b8609b"}, /* mla_q_scale/rows sm_80 */
    {"278a135ace614028", "c41e49c8efe6a0929c9af12a9da386dfa86fa1cca4fd3aea3a7c0bf73394740d"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"27974a4ef116b9ca", "32980e8b28c0308cbf2947df7a4d188f4d4b0c893fa53aa5f8e87d96c8f643d7"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"27f3884e467b2d81", "92f34ee333d3cff760c95faa8c95a8090bc558c9335b8ea9b83cbf0406663ddc"}, /* mla_qkv_a/mma sm_90a */
    {"27fc4a1b96e606ca", "eaf6efac8227d8ca045aa6e40a1c91c00e257d365d720f808234ac8c08afecaa"}, /* mla_q_b/ring_append sm_90a */
    {"28e277ca6b52ccac", "5957d3c8791783ac82f84a75df4c7ae3f7aff938d935fd3f9a1110ee8d71d0b4"},
      /* mla_decode/combine_values sm_90a */
    {"2a5b83a6db80b766", "3fa91a59f51dfed255cc4d5a66316c8abc00b5ab5eea18ff6d4c0e98e4f3d5f3"}, /* mla_q_b/stream_fp8 sm_90a */
    {"2a82f4ef0d1075e7", "364bafe005190a5f88fa1950ca018381c27fa0f2ff6a2d55a2ed916ba6fe764b"}, /* mla_append/rows sm_80 */
    {"2abf6b7c974b6ca7", "7e097ed499121755798d5cd6f846b43731b7f62dec0fce52f95fd669cd372dc6"}, /* mla_qkv_a/ring sm_90a */
    {"2b0f58654166561c", "a29a87d12db9ddf927d3d99f7fc6f7af8c00a41f9e975ad68a2322772395db2f"}, /* mla_o_proj/mma sm_80 */
    {"2b350b48e1af7fd0", "2b5d47ea12b4fab6893fde6c406dcc88b5c01b1ea17c842fb7a3b84f2b7a1680"}, /* mla_prefill/mma_fp8 sm_90a */
    {"2ba1759a118aa753", "d94993a89dd732d93c40e5e6cf2d198e5fa263e665444ed7b535c6325bc93639"}, /* mla_qkv_a/dot gfx942 */
    {"2bce608d0db9ab74", "e5a02ffd8451485f04a759cb1c5e335e35dcbbe036d4e94201b93c64db798323"}, /* mla_q_b/aside sm_90a */
    {"2cf57293ee7ac1fd", "534160a12b5da786498d98727eacd07adddb42af38f848aee4f569e022427ed4"}, /* mla_q_b/dot_fp8 sm_90a */
    {"2d52e6432622dddd", "4c51a10a39976ed351de0a61157936a07a8920b19be16a2d19b711164d3a4f89"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"2d6715d9a5c78c2d", "01db16e81fedcd6a34bc33bafdf07321feb5af633a9ef22f840441a22428ff12"}, /* mla_q_absorb/stay gfx942 */
    {"2dded909b31163e2", "eaf6efac8227d8ca045aa6e40a1c91c00e257d365d720f808234ac8c08afecaa"}, /* mla_q_b/ring_append sm_90a */
    {"2df31fdc39dc157e", "d812e3b4c6b65b9f6c2c2e31a34b1e929fd49e89b90a021dfef31782bd395be6"}, /* mla_o_proj/mfma gfx942 */
    {"2e38f39877325840", "d404f923036e2c2d90da1e2f548e4284b9a75d6f322ef984bcfb3f63a0438f14"}, /* mla_q_b/stream sm_90a */
    {"2e6c98e9ff457d22", "c5ec424597ff012eb15f8fbdfadbcf2e26138655a061166f9c20b7724c34e26b"}, /* mla_gather_kv_b/mma sm_80 */
    {"2e7857ffc5373272", "1c242011597c6ee314c1763ad71250898c4019c79c372bd35d89a8cc67bc266d"}, /* mla_qkv_a/staged gfx942 */
    {"2f21c6efa0126721", "c41e49c8efe6a0929c9af12a9da386dfa86fa1cca4fd3aea3a7c0bf73394740d"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"2f84a328bbb2af09", "534160a12b5da786498d98727eacd07adddb42af38f848aee4f569e022427ed4"}, /* mla_q_b/dot_fp8 sm_90a */
    {"2fc13e451ba17416", "8386d26f1d5e762f9c94b5a4a44501cddf68479718dd8716131c9b940c2cc353"}, /* mla_index/select gfx942 */
    {"300005868dcf6199", "46e5cf80bbd17d4280367bea2fc6e464e61be3ff681307345170c1a2b20b5e3e"}, /* mla_gather_kv_b/mfma gfx942 */
    {"3096b99d02854d0a", "fea1807e9a788193d44cde41469d4a601fe32f122a7c9cc51d8fff1e8d15ac2f"}, /* mla_q_absorb/stream sm_90a */
    {"30b789a2587e7aec", "b22788d9f17d15187538f4b017e99d8f26bdd7d3462b91fb52a5aed79cc70a6a"}, /* mla_q_absorb/dot gfx942 */
    {"30f00476bda7734f", "c282ea20694c51e70c5c50efc70bca2e6e79f8996eef07855e721c7031251788"}, /* mla_gather_kv_b/mma sm_90a */
    {"31a2c5a5419efb1f", "aecc2560101f5ae7d382a9fea212ecef22fa893bf77e3eee76f5b697cc8652ba"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"32025315f5d512e7", "494b80d3e06132dbd515ed2b0d48de9342bb3e2a18d1b3e68055a59b5552dd6d"}, /* mla_v_out/stream sm_90a */
    {"326ca7b3f2cd22bd", "06348c898fec4bbb34b97d827e696a2d2b0713a094320a633154169fb4c24ca2"}, /* read_ceiling gfx942 */
    {"32bd5eb631409861", "1164b8f6e3c9840b4c5935af84d92a413281923e086b666832bb5534361bbe57"}, /* mla_q_absorb/mma sm_80 */
    {"32edb9280665c726", "d04f858844f434dc157f10653c21842a69211706016d536b5360f044e1ebfa3e"}, /* mla_decode/mma_rotate sm_80 */
    {"32f616377edecaa3", "a2068df8e80405ee0e15ab7b45bf5a530a517ac23cdbc30c798bbeca1ab5e806"}, /* mla_decode/mfma_reg gfx942 */
    {"3368cf8dc0ec8575", "339bba832a54d8e3e167fff3cb20430a46a487114ddf06cd87e61c890babc701"}, /* mla_decode/sm90_few sm_90a */
    {"3387aedfd1a3c546", "1164b8f6e3c9840b4c5935af84d92a413281923e086b666832bb5534361bbe57"}, /* mla_q_absorb/mma sm_80 */
    {"338899771c926bb5", "758d9cffe5376754f4c0c2bffb6a5f0d3826648292060c4d88a894d604193927"}, /* mla_q_b/aside gfx942 */
    {"33ffc18b6f7ab1d9", "a715c49958b5f3467eacc50e165aace779aae3f3828f1baaa2cd61820ad0460e"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"3493f904afe3548f", "00fa85ee3f5dba89c5c5ad50822f4295ee1b23741f64f7641af5d0fe07ceef9d"}, /* mla_o_proj/staged gfx942 */
    {"34b9166ddf6590af", "e9bcc61e3792c10a05de072996965862ea38798f257027ad1476169756301015"}, /* mla_decode/mma sm_90a */
    {"364f60fc9dd2cdae", "c0d826021c5dd77f7e76cd839140bd34bffdcbfe57bdb948377d51dfeba99b1c"}, /* mla_o_proj/ring sm_90a */
    {"36995eb5935f7a10", "c6c59810403206d24e8f4a43b54c3cd20444ada4ee17cfe6eb8fc64be4ccb6e6"}, /* mla_v_out/dot_fp8 sm_90a */
    {"37ed2c5e94c1de81", "f09c6ec5bc09e9905045f4e8201ca14bede8e8e4f873c6ababfef13a77fbbd1c"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"38787690d9481f76", "eb8e6943f5779dbb408b078ee1c6a331584721008ea5de45b3264f587d7a6a8f"}, /* mla_v_out/mma sm_90a */
    {"388b1c7ead041926", "1d36cb435ba680262aea281ad8b7ebfce32b5283062b2e0863af723e130c403b"}, /* mla_prefill/mma sm_90a */
    {"388cc637fa03bc11", "e5a02ffd8451485f04a759cb1c5e335e35dcbbe036d4e94201b93c64db798323"}, /* mla_q_b/aside sm_90a */
    {"390a2d7fd2031c09", "4f4c3df8dbad80bc5528fa68960f40e12d49cdd0a4be1cb6b662af04c45fff48"}, /* mla_q_b/dot_append sm_90a */
    {"3a020fc567fbd0ac", "d04f858844f434dc157f10653c21842a69211706016d536b5360f044e1ebfa3e"}, /* mla_decode/mma_rotate sm_80 */
    {"3ad141a761f94571", "71719c43e53f739b0df7467d0b4e92711a5353a19d67502d9ec0d8385a363c24"}, /* mla_q_b/wide_fp8 sm_90a */
    {"3b44287253edb0dc", "13baa56743e69150fc9bbc2a51ff58cb8ebeee3ad0aca45fa2dcd5cb6b23ccde"}, /* mla_v_out/mma sm_80 */
    {"3bb00d178e62def6", "b1dadfdf6c9afaad74d80e795341b77255b766fa4afbe10a8b583016e02aad91"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"3d37efd7886df631", "b294329ac36a178ac123b5eab956a65e87d247537595e0e60405885391e86856"}, /* mla_gather_kv_b/aside sm_90a */
    {"3d7c41da3c2c689e", "9d9ee190057fed848c1c4d5e68098fc1087a2d709bf6f0f5a93f479156e8d64b"}, /* mla_gather_kv_b/mfma gfx950 */
    {"3dabfdf891e7e570", "7bddac1778d50c75e155c274d016396634cb807da049f5c0d1ad5db6fb176489"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"3eb1b4e9e985164f", "e219c75317efbbf0ffd07fd012764e082958e3a5515ba51eb35e3bd9415c78f3"}, /* index_pools gfx942 */
    {"3ec5e4aad7e2cf21", "fea1807e9a788193d44cde41469d4a601fe32f122a7c9cc51d8fff1e8d15ac2f"}, /* mla_q_absorb/stream sm_90a */
    {"3ef2f7a9b79c66af", "722646d519e93b4490569bfdaec9a21c8361fb01faa6bc83d9e1e459993fd7fe"}, /* mla_v_out/ring_fp8 sm_90a */
    {"3fe8e49baa613223", "ca4b9b6396a1af38da1e4b17e7e98e153265022b8db93a76889a33e09b4d2282"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"4081dcb8cc411ed8", "f421c079ab57ec3eb91e0b534fde5bbec4b58c99b0d42f1cc10ef648458f32a9"}, /* mla_o_proj/dot sm_90a */
    {"408c5976d70a66b4", "754be7a04aca1be132ae6f04ab4ed28c8b5ecf8bc18ad53d889efb07e2da4523"}, /* mla_q_absorb/mma sm_90a */
    {"4090ddf46076897d", "2657e5730b1907bcf26c0cf2270ea833af1bce1e562561a5a3781c8c4129d309"}, /* mla_q_b/mma_fp8 sm_90a */
    {"410726ea7b6bfd7a", "be2d6c6866b1736597fe976e67c9d046f506ddfad628b06f5af6ada2651858d9"}, /* mla_qkv_a/stream sm_90a */
    {"41736b1568ec6f95", "c11f4930abcd65b66929007d16d42702c069c9ebd14c80034a8366a2aea34fd6"}, /* mla_v_out/mma_fp8 sm_80 */
    {"41c8cb744f3ffa8a", "92f34ee333d3cff760c95faa8c95a8090bc558c9335b8ea9b83cbf0406663ddc"}, /* mla_qkv_a/mma sm_90a */
    {"421af555c8555a0b", "cd5cd95309b4dec907deb998a4e34b5ffa8c9af8cfc07e4bfc57f8fd5313761a"}, /* mla_decode/mfma_reg gfx950 */
    {"42a0b483eb23773b", "0f948323e15166ffdc18f0f190f90fba6b9d92a9afdb04fa0a8a3d0706475633"},
      /* mla_prefill/mma_invariant sm_90a */
    {"42b5d3895244ce0f", "d94993a89dd732d93c40e5e6cf2d198e5fa263e665444ed7b535c6325bc93639"}, /* mla_qkv_a/dot gfx942 */
    {"42cf2b70e0b8ec99", "8c678a27eba9cfbaba54ac01be783b16d8c61fe2572ce3bee8577017d7ba6434"},
      /* mla_decode/mfma_reg_cache gfx950 */
    {"4304322d37e36a40", "b294329ac36a178ac123b5eab956a65e87d247537595e0e60405885391e86856"}, /* mla_gather_kv_b/aside sm_90a */
    {"43081811e5bcf8d9", "5a8eaec787fa95b8a42dfafabdb8c7e7cdb72a51f4d09e96650f2ea4ed3cb06c"}, /* concat_keys gfx942 */
    {"434b918acd7cc0bb", "828b4d8fb0afa6a31432b0849c8ff0ff0b886a7e7cf27e081eb327135e4fc02e"}, /* mla_v_out/dot gfx942 */
    {"43647078c6e0ad33", "c6c59810403206d24e8f4a43b54c3cd20444ada4ee17cfe6eb8fc64be4ccb6e6"}, /* mla_v_out/dot_fp8 sm_90a */
    {"437c5d08dc60bf9e", "4b56ccef8767557fc3a8c1e6c17c48f174b9da1b5957e32fb923ed8fdd8e8644"}, /* mla_v_out/stream_fp8 sm_90a */
    {"43ab539cf042cf4b", "ad26c07e592908b38ebed0a35281dc1183d8199caa1ad994d544d2a42ef617f6"}, /* mla_q_b/dot gfx942 */
    {"43f367afc69ac9ec", "d4e8354a7e071e2b1053083e0f60635e591febcacb86fa75d6c6311b2f1ec15b"}, /* mla_q_b/staged_append gfx942 */
    {"44190bdc13d5ea12", "b1dadfdf6c9afaad74d80e795341b77255b766fa4afbe10a8b583016e02aad91"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"4423dd8ed7e95c52", "fea1807e9a788193d44cde41469d4a601fe32f122a7c9cc51d8fff1e8d15ac2f"}, /* mla_q_absorb/stream sm_90a */
    {"44c4a1901777f43b", "98d426be0f93bfb9fbf3c0ea1005287eb56e5ef829b4a4fcdcca482fa60d478d"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"44f1a5ffa0dceb8b", "d64572059936a8a9d42373fe506568e40ba40f0570c57ea00fde32c28cc27489"}, /* mla_o_proj/mma sm_90a */
    {"4525759faa026781", "807616b84f0ba6afa03be50b1c9a9734f0296057f4dfb35b496fd5adafde8902"}, /* mla_q_absorb/aside sm_90a */
    {"45b816884bf640bf", "00fa85ee3f5dba89c5c5ad50822f4295ee1b23741f64f7641af5d0fe07ceef9d"}, /* mla_o_proj/staged gfx942 */
    {"45f7fe1f529af379", "c4b513363c26a7872525901f98630f7543bfa1f62158b393a7015f315d2c766d"}, /* mla_v_out/wide_fp8 sm_90a */
    {"4643b343f64f01e7", "486d3421bf0c20f63278784fdda5a433c33bda33015d811687bc5607bd9d0b6f"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"466ee13d25cced4e", "9e17fe976c97eca9926d9e95175b699b0886269b8f53d2333a97b0fde91f3024"}, /* mla_append/rows gfx942 */
    {"46738ec6ead489fa", "f09c6ec5bc09e9905045f4e8201ca14bede8e8e4f873c6ababfef13a77fbbd1c"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4688f8af6acfb47a", "ca4b9b6396a1af38da1e4b17e7e98e153265022b8db93a76889a33e09b4d2282"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"482330ae4693aa08", "494b80d3e06132dbd515ed2b0d48de9342bb3e2a18d1b3e68055a59b5552dd6d"}, /* mla_v_out/stream sm_90a */
    {"483ba79cb9824930", "f0e3909759de37f7542cee2e29267bd736e091dd33a01c969ada6153be9ac61f"}, /* mla_qkv_a/mma sm_80 */
    {"488a2cf5ee6054e1", "c5ec424597ff012eb15f8fbdfadbcf2e26138655a061166f9c20b7724c34e26b"}, /* mla_gather_kv_b/mma sm_80 */
    {"489f7d272b0d7312", "e5edd5a28f1fb4cd14df0697491cf4153d105e0b5b3dcea280396ce44fe703cf"}, /* mla_decode/sm90_mid sm_90a */
    {"4a209c1c1cc4633d", "2841baeebc02dee967e1221a06fbc952afd222c0c95eb2a793dda127ba83042a"}, /* mla_q_scale/rows gfx942 */
    {"4a24dc6c5db91e61", "1d36cb435ba680262aea281ad8b7ebfce32b5283062b2e0863af723e130c403b"}, /* mla_prefill/mma sm_90a */
    {"4ab451e74881bb36", "40c45e1a4d1167983bde0a4184d29178c2f7d016fc938ee4a09d491550b8609b"}, /* mla_q_scale/rows sm_80 */
    {"4bac024c7d78cb0e", "d6a5e0fda28e9de4a13f5f0264a3bc0ea47f7499d71838f21a898fb1e9141a3d"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"4bc3d4340fd114c6", "e9bcc61e3792c10a05de072996965862ea38798f257027ad1476169756301015"}, /* mla_decode/mma sm_90a */
    {"4bc779bbfb4a8adb", "c78bb23343f3fb1ad2e7cfb72c153be548640ddcbc190d16e39e542a9ca3ac1e"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"4c3f4a38d2d43d33", "a715c49958b5f3467eacc50e165aace779aae3f3828f1baaa2cd61820ad0460e"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"4c449798b7f064e8", "ec7a737b99016f177a08d8663e07be13a14db38296ac675266266e64fab404aa"}, /* mla_prefill/sm90 sm_90a */
    {"4d71d7fd2595fc22", "a715c49958b5f3467eacc50e165aace779aae3f3828f1baaa2cd61820ad0460e"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"4d8e488c2851dd96", "d053e777535fa3cf5a71a72ae25203c2aa3e15654e51c265dab4eb985cd72be8"}, /* mla_q_b/mfma_append gfx942 */
    {"4db92c53c47c33a2", "ec7a737b99016f177a08d8663e07be13a14db38296ac675266266e64fab404aa"}, /* mla_prefill/sm90 sm_90a */
    {"4dee127400d8410a", "80b0311a5b664a9559ced2f488c70fc6ec9cd14347ae8d0393508a0b39f159f9"}, /* mla_v_out/ring sm_90a */
    {"4e0d697e1f60e8ee", "5856913efe3ff6ccad9738571c1f2747133b50baa2d38941778fb5aa4789e714"}, /* mla_q_absorb/ring sm_90a */
    {"4f1693de56b369af", "0f948323e15166ffdc18f0f190f90fba6b9d92a9afdb04fa0a8a3d0706475633"},
      /* mla_prefill/mma_invariant sm_90a */
    {"4f45ed073002d229", "d64572059936a8a9d42373fe506568e40ba40f0570c57ea00fde32c28cc27489"}, /* mla_o_proj/mma sm_90a */
    {"4f8ba32f2d539913", "1164b8f6e3c9840b4c5935af84d92a413281923e086b666832bb5534361bbe57"}, /* mla_q_absorb/mma sm_80 */
    {"4fae61dbb67cf1e7", "f09c6ec5bc09e9905045f4e8201ca14bede8e8e4f873c6ababfef13a77fbbd1c"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4fb918a81b255c2a", "71719c43e53f739b0df7467d0b4e92711a5353a19d67502d9ec0d8385a363c24"}, /* mla_q_b/wide_fp8 sm_90a */
    {"50672d0339cb52de", "d053e777535fa3cf5a71a72ae25203c2aa3e15654e51c265dab4eb985cd72be8"}, /* mla_q_b/mfma_append gfx942 */
    {"5077a10c0502b2b3", "1164b8f6e3c9840b4c5935af84d92a413281923e086b666832bb5534361bbe57"}, /* mla_q_absorb/mma sm_80 */
    {"508f8bd39d0aa3d2", "fea1807e9a788193d44cde41469d4a601fe32f122a7c9cc51d8fff1e8d15ac2f"}, /* mla_q_absorb/stream sm_90a */
    {"50b8dd8522e4f88d", "46e5cf80bbd17d4280367bea2fc6e464e61be3ff681307345170c1a2b20b5e3e"}, /* mla_gather_kv_b/mfma gfx942 */
    {"50d31c6fd9baa7ea", "7e097ed499121755798d5cd6f846b43731b7f62dec0fce52f95fd669cd372dc6"}, /* mla_qkv_a/ring sm_90a */
    {"518e4471bff1f45a", "ece0dca14dd127820dc9f8b87c3d527d83a5e9609ec88602edc11714648e7ea9"}, /* mla_v_out/dot sm_90a */
    {"51b309294b845aad", "f30a6806058b83bc477ea3d634fafe59493c447f1fc50ab2aa26a3cd33dbe6cc"}, /* mla_o_proj/stream sm_90a */
    {"51d6be2f8297b0fd", "c5c2a906e9fa92c5e6d1b9903419026239269aa14f4b5d2ae5b085f0634db8d2"}, /* mla_v_out/mfma gfx942 */
    {"51e8e260ed48722d", "754be7a04aca1be132ae6f04ab4ed28c8b5ecf8bc18ad53d889efb07e2da4523"}, /* mla_q_absorb/mma sm_90a */
    {"522dfe7ac6e5765c", "c5ec424597ff012eb15f8fbdfadbcf2e26138655a061166f9c20b7724c34e26b"}, /* mla_gather_kv_b/mma sm_80 */
    {"534cc794f84b0c00", "294f9bcd3722f4d6a5c3e30e92842d730dc269edd529f98767a8433729dd3688"}, /* mla_qkv_a/dot sm_90a */
    {"54a2a7d3e298f06b", "bb3560cb5703f04918416b34382d4115dad12a3cbe4e4e29c5ee3797a3f1f0a8"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"54ca597a53583565", "f9452cff33aea253d1fbef8d91248b9eb5445e04f3d7ff2e14b6b62dbe7825bb"}, /* mla_merge/rows sm_80 */
    {"5515d5f8c3557370", "eef774beba22cb4b897e8fee0bde7fb98e98c5e4add6d629bb2f68d44e1d67b2"}, /* block_tables sm_90a */
    {"55956f100523f84d", "2b5d47ea12b4fab6893fde6c406dcc88b5c01b1ea17c842fb7a3b84f2b7a1680"}, /* mla_prefill/mma_fp8 sm_90a */
    {"55a071889cb1c73a", "ec80379b8e86438916d1d8d76a60c6a222cfa68a835a6de87ea316fcbbf10d29"}, /* mla_gather_kv_b/mfma gfx90a */
    {"563edcd2a92fad24", "40c45e1a4d1167983bde0a4184d29178c2f7d016fc938ee4a09d491550b8609b"}, /* mla_q_scale/rows sm_80 */
    {"56ca7bbd00bd0031", "c5c2a906e9fa92c5e6d1b9903419026239269aa14f4b5d2ae5b085f0634db8d2"}, /* mla_v_out/mfma gfx942 */
    {"573e4c7706a69ad8", "65c9f6fb2555017901b59543f5d34fcaad96f48b72a3ed35d840ae5ea2b9c533"}, /* mla_q_b/staged gfx942 */
    {"576551df5696a9a0", "0f948323e15166ffdc18f0f190f90fba6b9d92a9afdb04fa0a8a3d0706475633"},
      /* mla_prefill/mma_invariant sm_90a */
    {"57e8d1f70163dfb6", "86c6fb837ba5acb10db0ae1db6a8d8d3eb874e764436256fdcca5bccf7357efb"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"580cd01bf5ab9ca4", "7fa0176f22bb6d0efa4b67cb5ab99f1b9b45e7cba6dac83733cd8fe602deb816"}, /* mla_q_b/ring_fp8 sm_90a */
    {"581df0bdcae64434", "236c7f32a12e1237e6bdafc862b3c09cf0f14a626dd9b9a3765caa628af81c67"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"586bbb7c4941821e", "c5ec424597ff012eb15f8fbdfadbcf2e26138655a061166f9c20b7724c34e26b"}, /* mla_gather_kv_b/mma sm_80 */
    {"58f564a4e5a11442", "494c06179ebdb1e4fa0abfaf64ccdbe1cc3a9238d606ffae43ab400258bc9024"}, /* index_lists gfx942 */
    {"592e7e7e616645ae", "3fa3a2251f5b861736ea8e8ae62e796997b49c5e7bb493603be28948f9450129"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"5aed77cbed629357", "f3c2bb01712129aff0256da2de182db4fca2549c844f80e34b6d26caa1add49d"}, /* mla_q_b/stream_append sm_90a */
    {"5b7ee567c192eac4", "357feea5cdbb99aff681af66f4f8bedb31639edd65571116024c342246a6d33f"}, /* mla_q_absorb/dot sm_90a */
    {"5ba2ff28ac49f298", "98d426be0f93bfb9fbf3c0ea1005287eb56e5ef829b4a4fcdcca482fa60d478d"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"5c050fc21e631fbb", "3fa3a2251f5b861736ea8e8ae62e796997b49c5e7bb493603be28948f9450129"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"5c1eb1b99be6f578", "2841baeebc02dee967e1221a06fbc952afd222c0c95eb2a793dda127ba83042a"}, /* mla_q_scale/rows gfx942 */
    {"5c26c10f373a9eee", "b1dadfdf6c9afaad74d80e795341b77255b766fa4afbe10a8b583016e02aad91"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"5c61c7069e7ce5ef", "42a8d919388844cd87b7f8a2847a9fa745d728bffb45615dbdccdad60a1f3a44"}, /* mla_q_b/mma sm_80 */
    {"5c67315b5bdbda22", "d64572059936a8a9d42373fe506568e40ba40f0570c57ea00fde32c28cc27489"}, /* mla_o_proj/mma sm_90a */
    {"5c67ebc31b400ae3", "b056e3cff6cadce51b5ce1653120db5dbf991b97619c24c4b9cff66d45a2ab69"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"5d6768ad1168ae1c", "d6a5e0fda28e9de4a13f5f0264a3bc0ea47f7499d71838f21a898fb1e9141a3d"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"5d8b3cf12369dfa8", "bb3560cb5703f04918416b34382d4115dad12a3cbe4e4e29c5ee3797a3f1f0a8"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"5def24a3c47d5419", "494c06179ebdb1e4fa0abfaf64ccdbe1cc3a9238d606ffae43ab400258bc9024"}, /* index_lists gfx942 */
    {"5e40988626e209a2", "fbff5e22c7a867085f7a446546bebb7d3a8ed1a9ea93cea3f7ef4e9969274e2d"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"5e4983454b2827ad", "c0d826021c5dd77f7e76cd839140bd34bffdcbfe57bdb948377d51dfeba99b1c"}, /* mla_o_proj/ring sm_90a */
    {"5e95e61caa638de5", "dc00cd70cd950e785c9ae8bfa191b7215473afd353a430b6f4b93765209834da"}, /* mla_v_out/staged gfx942 */
    {"5f0eb31d047002c1", "d812e3b4c6b65b9f6c2c2e31a34b1e929fd49e89b90a021dfef31782bd395be6"}, /* mla_o_proj/mfma gfx942 */
    {"5f361586a8f8f0eb", "d65b5b76124ef038838374b3f94ded081c2fc89bc3afe43d33fe8ef512deb94c"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"5f7af28d3e946da5", "81e11b52124556c714ea05522220f8b3ede04fc3f4cc5459102d0657dee995b2"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"5f7e0bdd079c89b0", "4f4c3df8dbad80bc5528fa68960f40e12d49cdd0a4be1cb6b662af04c45fff48"}, /* mla_q_b/dot_append sm_90a */
    {"60290826fa89360a", "9702876c9420fa6b0e1488a73e4cbe3d92036755047cc996f70732376092cd25"}, /* mla_q_absorb/mfma gfx942 */
    {"6042bacaa4c8805c", "1d36cb435ba680262aea281ad8b7ebfce32b5283062b2e0863af723e130c403b"}, /* mla_prefill/mma sm_90a */
    {"6049b43891b85dc6", "8c285bb1900595aaa433590390fb09e63cb09f4bfe7945c8ca31c07be5c3bac1"}, /* mla_index/select sm_90a */
    {"61f9b36d949ba918", "294f9bcd3722f4d6a5c3e30e92842d730dc269edd529f98767a8433729dd3688"}, /* mla_qkv_a/dot sm_90a */
    {"61ff20c5f0e8af2d", "5856913efe3ff6ccad9738571c1f2747133b50baa2d38941778fb5aa4789e714"}, /* mla_q_absorb/ring sm_90a */
    {"620618886468453b", "fec4d12a908db47f3da0836e2d8ffef240f5c35bbf90960fa04522e1ebf06f17"}, /* mla_decode/combine_warp sm_90a */
    {"62064e783bde7133", "c78bb23343f3fb1ad2e7cfb72c153be548640ddcbc190d16e39e542a9ca3ac1e"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"62570dbb844b4268", "d812e3b4c6b65b9f6c2c2e31a34b1e929fd49e89b90a021dfef31782bd395be6"}, /* mla_o_proj/mfma gfx942 */
    {"63001e2b95e24db3", "41d4b08cceeb496f9a68b24717dfd0aaf6b569bc229f357397fdea1597763b96"}, /* mla_q_b/mfma gfx942 */
    {"6316dbad348b8575", "06c9b90d6c1c41c8e5dd383ddebf5ee8405a489c81f60add9e9be5c5954beed1"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"63b5593d9c7a3257", "1c242011597c6ee314c1763ad71250898c4019c79c372bd35d89a8cc67bc266d"}, /* mla_qkv_a/staged gfx942 */
    {"6418dfb639448431", "66f35f4be7a59a912cd30722a0733d3722fc77af4778ec15772a7787c12f4c0b"}, /* soak_compare sm_90a */
    {"6492fa35c586fcfb", "f28faad813ff71c83bf567770510a8e7d0f2d4ceef1942fbc40a80dda03b2965"}, /* mla_prefill/mfma_asm gfx942 */
    {"64cd326f56dbcc1c", "c282ea20694c51e70c5c50efc70bca2e6e79f8996eef07855e721c7031251788"}, /* mla_gather_kv_b/mma sm_90a */
    {"6515a855e45d0fa7", "13baa56743e69150fc9bbc2a51ff58cb8ebeee3ad0aca45fa2dcd5cb6b23ccde"}, /* mla_v_out/mma sm_80 */
    {"655757e2b180b1a5", "2ab3be7848180dbb6cf580cd9de263096fafeafd2c1e9d94e606901138e09a1e"}, /* mla_dequant/rows sm_80 */
    {"65575f7329f1dcfa", "43cbeb7e067ca52ceaf04d41069382deb43ea222ca3fa85fd53c3e8c45f72510"}, /* mla_prefill/mfma gfx942 */
    {"66097e160f66c6a7", "d812e3b4c6b65b9f6c2c2e31a34b1e929fd49e89b90a021dfef31782bd395be6"}, /* mla_o_proj/mfma gfx942 */
    {"66f8be4ab33c7cc8", "beeb95ee0b60daf5b0832e3c079e04f5027be036a8d3981e230a2de1d56ed200"}, /* mla_q_scale/rows sm_90a */
    {"6730cfb350652cdb", "236c7f32a12e1237e6bdafc862b3c09cf0f14a626dd9b9a3765caa628af81c67"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"6742b2dcb3f0718c", "828b4d8fb0afa6a31432b0849c8ff0ff0b886a7e7cf27e081eb327135e4fc02e"}, /* mla_v_out/dot gfx942 */
    {"680609c94a002177", "dc00cd70cd950e785c9ae8bfa191b7215473afd353a430b6f4b93765209834da"}, /* mla_v_out/staged gfx942 */
    {"685e272e784605b7", "d812e3b4c6b65b9f6c2c2e31a34b1e929fd49e89b90a021dfef31782bd395be6"}, /* mla_o_proj/mfma gfx942 */
    {"68659cd5dad97396", "1d70ec932e74ee10f0f31b72bf42e1a3707375568681069751c8d7752f13601f"}, /* mla_append/rows sm_90a */
    {"687b6f54fd547a97", "43cbeb7e067ca52ceaf04d41069382deb43ea222ca3fa85fd53c3e8c45f72510"}, /* mla_prefill/mfma gfx942 */
    {"687e6901ed9ea13e", "3faebf511fd930e7af6c6a2b71ee2523e7206b110a819accfed424d0820f6cd5"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"6882f65f16c455c8", "5856913efe3ff6ccad9738571c1f2747133b50baa2d38941778fb5aa4789e714"}, /* mla_q_absorb/ring sm_90a */
    {"688c6d3e16b33fcc", "37324c66434b68c6c49efa5a20cb9356d38936823969c773d02158169067d507"}, /* index_lists sm_90a */
    {"6b7adc45386f02d2", "be2d6c6866b1736597fe976e67c9d046f506ddfad628b06f5af6ada2651858d9"}, /* mla_qkv_a/stream sm_90a */
    {"6bff2e1d438aacd3", "9d9ee190057fed848c1c4d5e68098fc1087a2d709bf6f0f5a93f479156e8d64b"}, /* mla_gather_kv_b/mfma gfx950 */
    {"6c167320aaabe81d", "3fa3a2251f5b861736ea8e8ae62e796997b49c5e7bb493603be28948f9450129"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"6c871082ff78fd39", "d64572059936a8a9d42373fe506568e40ba40f0570c57ea00fde32c28cc27489"}, /* mla_o_proj/mma sm_90a */
    {"6c8d6fdda1eb2d79", "f421c079ab57ec3eb91e0b534fde5bbec4b58c99b0d42f1cc10ef648458f32a9"}, /* mla_o_proj/dot sm_90a */
    {"6ca08f10d7bee181", "3bc91d48811b986303f3098758bba94664a58f71a2b1c5bde82b680f654eb6fd"}, /* mla_decode/mfma_lds gfx942 */
    {"6d1cb71460be196e", "4c51a10a39976ed351de0a61157936a07a8920b19be16a2d19b711164d3a4f89"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"6d2b328d8ecb7bc6", "236c7f32a12e1237e6bdafc862b3c09cf0f14a626dd9b9a3765caa628af81c67"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"6d7bda318c28d4db", "6a92c932651739c85b1f0e0fe0e9a5ccc60cf25eb441a4225d5e900f678ccbd7"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"6d7d9e07b8616d8c", "2e18df580e2dd7f6b0af262e6caa5b29f74f0b8f52b4ed5d85b6358b277000d7"}, /* mla_decode/mma_cache sm_80 */
    {"6d926853c208b61c", "d65b5b76124ef038838374b3f94ded081c2fc89bc3afe43d33fe8ef512deb94c"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"6da1b95e0f465270", "d04f858844f434dc157f10653c21842a69211706016d536b5360f044e1ebfa3e"}, /* mla_decode/mma_rotate sm_80 */
    {"6dbeb7b66f6610d2", "be2d6c6866b1736597fe976e67c9d046f506ddfad628b06f5af6ada2651858d9"}, /* mla_qkv_a/stream sm_90a */
    {"6dd9f8c6cebc185b", "5856913efe3ff6ccad9738571c1f2747133b50baa2d38941778fb5aa4789e714"}, /* mla_q_absorb/ring sm_90a */
    {"6e19b1ae22409607", "f9452cff33aea253d1fbef8d91248b9eb5445e04f3d7ff2e14b6b62dbe7825bb"}, /* mla_merge/rows sm_80 */
    {"6f3257eb4b328ea4", "37324c66434b68c6c49efa5a20cb9356d38936823969c773d02158169067d507"}, /* index_lists sm_90a */
    {"6f4e417030598a53", "e3bbc9f9e5c7b6ab67254ca7476bd6766ba77bc6cdf42912078884049b170403"}, /* mla_q_absorb/aside gfx942 */
    {"6facba9a6ebc2180", "13baa56743e69150fc9bbc2a51ff58cb8ebeee3ad0aca45fa2dcd5cb6b23ccde"}, /* mla_v_out/mma sm_80 */
    {"7024c3338026f869", "745db3110b34f0cccadbcf3e00541007745e1051fedf9ab6417a71de185ebb73"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"709ec78999875393", "24ac2b9c35f3632c357b52ea3eac8009be7f06e240949cbe5b9bb402d22b7ab2"}, /* mla_prefill/mma sm_86 */
    {"70aa0ae24d025775", "722646d519e93b4490569bfdaec9a21c8361fb01faa6bc83d9e1e459993fd7fe"}, /* mla_v_out/ring_fp8 sm_90a */
    {"713de32a5f66e05c", "3f7bbe709e3d47687d931482de22d570492930f04fb95d9fe20f3537202f99bc"}, /* mla_q_absorb/walk sm_90a */
    {"71657ad6b467a1c5", "a2068df8e80405ee0e15ab7b45bf5a530a517ac23cdbc30c798bbeca1ab5e806"}, /* mla_decode/mfma_reg gfx942 */
    {"7188ec6e7235fcb3", "6a92c932651739c85b1f0e0fe0e9a5ccc60cf25eb441a4225d5e900f678ccbd7"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"71f0c2dd25be2bde", "06c9b90d6c1c41c8e5dd383ddebf5ee8405a489c81f60add9e9be5c5954beed1"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"722c77ac8f16d49d", "8242ab23b5d581b79503caad3c035eca73c166f8fa6d8eea44ae52dd25d73b78"}, /* mla_prefill/mma_fp8 sm_89 */
    {"72645be6b7bc029c", "3faebf511fd930e7af6c6a2b71ee2523e7206b110a819accfed424d0820f6cd5"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"72aa5759fbe5577a", "d65b5b76124ef038838374b3f94ded081c2fc89bc3afe43d33fe8ef512deb94c"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"74004649bb7f497d", "65c9f6fb2555017901b59543f5d34fcaad96f48b72a3ed35d840ae5ea2b9c533"}, /* mla_q_b/staged gfx942 */
    {"7461a09813e9dafd", "f30a6806058b83bc477ea3d634fafe59493c447f1fc50ab2aa26a3cd33dbe6cc"}, /* mla_o_proj/stream sm_90a */
    {"7513a6f9f64e93f4", "782f202107322238ffef293ef8752b47030d4ff087282f6a404c3eb5b1c474fe"}, /* mla_merge/rows gfx942 */
    {"759fac03110f15e7", "c6c59810403206d24e8f4a43b54c3cd20444ada4ee17cfe6eb8fc64be4ccb6e6"}, /* mla_v_out/dot_fp8 sm_90a */
    {"767e47e6defdca91", "357feea5cdbb99aff681af66f4f8bedb31639edd65571116024c342246a6d33f"}, /* mla_q_absorb/dot sm_90a */
    {"76a092d6a65012e0", "df905d77db4c92f216d192938ec262a60e1e89910528e42d347a78c3a284eb11"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"77c36535c51c4fcf", "fec4d12a908db47f3da0836e2d8ffef240f5c35bbf90960fa04522e1ebf06f17"}, /* mla_decode/combine_warp sm_90a */
    {"77de15eb296e1202", "800e02f5e241caa02ad433aa060fcaddf7ea51594d880f7a1b9c0da3329ae58e"}, /* mla_q_b/ring sm_90a */
    {"78257682019ec7da", "c78bb23343f3fb1ad2e7cfb72c153be548640ddcbc190d16e39e542a9ca3ac1e"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"7837067a3e3ffcb9", "3f7bbe709e3d47687d931482de22d570492930f04fb95d9fe20f3537202f99bc"}, /* mla_q_absorb/walk sm_90a */
    {"79393045c7ec89ee", "5159ce3dc7fc17474c0f18386b27436a46597e496ad2407d7062808296754fa3"}, /* mla_index/logits gfx942 */
    {"79e407498db95a54", "f421c079ab57ec3eb91e0b534fde5bbec4b58c99b0d42f1cc10ef648458f32a9"}, /* mla_o_proj/dot sm_90a */
    {"7abb1346e45e41d8", "d053e777535fa3cf5a71a72ae25203c2aa3e15654e51c265dab4eb985cd72be8"}, /* mla_q_b/mfma_append gfx942 */
    {"7c383c69b2de8ddc", "66f35f4be7a59a912cd30722a0733d3722fc77af4778ec15772a7787c12f4c0b"}, /* soak_compare sm_90a */
    {"7d250586eb84213f", "32980e8b28c0308cbf2947df7a4d188f4d4b0c893fa53aa5f8e87d96c8f643d7"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"7dc3cf284f9a6888", "01ce240db1c61bc143d7ac0982a2bdb58e75d572701a2e6661e63fc52e3347ad"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"7ddaa198d43c209e", "a33c777860ab0119f1746336a694d58f71d5ce7544b1170f254a7316dcb92907"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"7e36a6698555a736", "2a186c7ff4d590554678f2dccda355efc37c78d644c3c9a6b6870a025eb4e132"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"7e3bc0453f8781a3", "294f9bcd3722f4d6a5c3e30e92842d730dc269edd529f98767a8433729dd3688"}, /* mla_qkv_a/dot sm_90a */
    {"7e7d077b9982e025", "c5c2a906e9fa92c5e6d1b9903419026239269aa14f4b5d2ae5b085f0634db8d2"}, /* mla_v_out/mfma gfx942 */
    {"7ee210ddf56e4a56", "9e17fe976c97eca9926d9e95175b699b0886269b8f53d2333a97b0fde91f3024"}, /* mla_append/rows gfx942 */
    {"7f1249ffe2009412", "5957d3c8791783ac82f84a75df4c7ae3f7aff938d935fd3f9a1110ee8d71d0b4"},
      /* mla_decode/combine_values sm_90a */
    {"7f655c8c9a1463fa", "bc6ef43e5c6ca3e2bd5b3978e3dc36265766a752fc2147620940c28225e0ff87"}, /* mla_o_proj/dot gfx942 */
    {"801481663ba30b17", "a33c777860ab0119f1746336a694d58f71d5ce7544b1170f254a7316dcb92907"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"806092043f43ce9f", "f0e3909759de37f7542cee2e29267bd736e091dd33a01c969ada6153be9ac61f"}, /* mla_qkv_a/mma sm_80 */
    {"80ded403cd42ce9c", "2ab3be7848180dbb6cf580cd9de263096fafeafd2c1e9d94e606901138e09a1e"}, /* mla_dequant/rows sm_80 */
    {"813b0cebe61e2bb8", "ad26c07e592908b38ebed0a35281dc1183d8199caa1ad994d544d2a42ef617f6"}, /* mla_q_b/dot gfx942 */
    {"82539b42edf2a9af", "24ac2b9c35f3632c357b52ea3eac8009be7f06e240949cbe5b9bb402d22b7ab2"}, /* mla_prefill/mma sm_86 */
    {"825481246183f227", "f9452cff33aea253d1fbef8d91248b9eb5445e04f3d7ff2e14b6b62dbe7825bb"}, /* mla_merge/rows sm_80 */
    {"827f4c8e744e101e", "71719c43e53f739b0df7467d0b4e92711a5353a19d67502d9ec0d8385a363c24"}, /* mla_q_b/wide_fp8 sm_90a */
    {"82dd5951ef3c629c", "2765c884af1b3164df5c4339dd4a618d1eb9d3050ae02bca3169670654a22741"}, /* mla_gather_kv_b/aside gfx942 */
    {"8364a77e80c5df52", "a29a87d12db9ddf927d3d99f7fc6f7af8c00a41f9e975ad68a2322772395db2f"}, /* mla_o_proj/mma sm_80 */
    {"84235f5896c5e5c3", "5856913efe3ff6ccad9738571c1f2747133b50baa2d38941778fb5aa4789e714"}, /* mla_q_absorb/ring sm_90a */
    {"844bfa840f85bead", "3f7bbe709e3d47687d931482de22d570492930f04fb95d9fe20f3537202f99bc"}, /* mla_q_absorb/walk sm_90a */
    {"847a2dfb88035c90", "722646d519e93b4490569bfdaec9a21c8361fb01faa6bc83d9e1e459993fd7fe"}, /* mla_v_out/ring_fp8 sm_90a */
    {"8495a7babd87320e", "beeb95ee0b60daf5b0832e3c079e04f5027be036a8d3981e230a2de1d56ed200"}, /* mla_q_scale/rows sm_90a */
    {"8552d3b817a589a7", "81e11b52124556c714ea05522220f8b3ede04fc3f4cc5459102d0657dee995b2"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"857092da1807398b", "2a186c7ff4d590554678f2dccda355efc37c78d644c3c9a6b6870a025eb4e132"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"85de3ce2ab0837b5", "f0e3909759de37f7542cee2e29267bd736e091dd33a01c969ada6153be9ac61f"}, /* mla_qkv_a/mma sm_80 */
    {"861fe02e6c9a504c", "4a38b6950121e15e4a804a681ddccf3fb2d0338230c12710dc265b80ab20782f"}, /* mla_prefill/mfma gfx950 */
    {"8658df2331db27d5", "4b56ccef8767557fc3a8c1e6c17c48f174b9da1b5957e32fb923ed8fdd8e8644"}, /* mla_v_out/stream_fp8 sm_90a */
    {"8671a60a46e2cd86", "494b80d3e06132dbd515ed2b0d48de9342bb3e2a18d1b3e68055a59b5552dd6d"}, /* mla_v_out/stream sm_90a */
    {"868f0e8996721a0a", "534160a12b5da786498d98727eacd07adddb42af38f848aee4f569e022427ed4"}, /* mla_q_b/dot_fp8 sm_90a */
    {"8759e730929887d4", "c41e49c8efe6a0929c9af12a9da386dfa86fa1cca4fd3aea3a7c0bf73394740d"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"879d993ab977912a", "2c25fa178da6c314d3cd453c83783692954aecb1c44451574f0f9be00eee424b"}, /* mla_q_b/dot sm_90a */
    {"87bacde037f84467", "5957d3c8791783ac82f84a75df4c7ae3f7aff938d935fd3f9a1110ee8d71d0b4"},
      /* mla_decode/combine_values sm_90a */
    {"881db04d8cde6b1d", "9756af59227cabe7373406f437ab5cec0ed97a5d4f3e16aca7e9c999b35d87d4"}, /* attn_sink gfx942 */
    {"8846c78f7635a4bb", "f1f5c9a16564d401904732cd89c8c53801a450b896185ff5f292d69f46113999"}, /* soak_compare gfx942 */
    {"88d156531b26ea63", "eef774beba22cb4b897e8fee0bde7fb98e98c5e4add6d629bb2f68d44e1d67b2"}, /* block_tables sm_90a */
    {"88e27e0e2df726d0", "2765c884af1b3164df5c4339dd4a618d1eb9d3050ae02bca3169670654a22741"}, /* mla_gather_kv_b/aside gfx942 */
    {"88e8ddc0bf1df79d", "f0e3909759de37f7542cee2e29267bd736e091dd33a01c969ada6153be9ac61f"}, /* mla_qkv_a/mma sm_80 */
    {"893a8279769ee8ee", "73c9c117518bc867052f857277a91d2f28b6b36db73508e68046fcf5611a4821"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"895b48f66f759693", "8b609e1fb32ab0eef26ff68051cffc72e2579ebcf4c5815b1401e9d432db9c4e"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"89e2b2ad84fa43ab", "ca4b9b6396a1af38da1e4b17e7e98e153265022b8db93a76889a33e09b4d2282"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"89f1d7763379bf53", "01db16e81fedcd6a34bc33bafdf07321feb5af633a9ef22f840441a22428ff12"}, /* mla_q_absorb/stay gfx942 */
    {"8a78d0e06f1b8c65", "e5edd5a28f1fb4cd14df0697491cf4153d105e0b5b3dcea280396ce44fe703cf"}, /* mla_decode/sm90_mid sm_90a */
    {"8b5fa8ce92aa9d56", "fd195cf936da9311f98da840b516f75e1a7f846385883a8949386f0e70992985"}, /* mla_decode/mfma_reg gfx90a */
    {"8bee3090fba04d66", "f1f5c9a16564d401904732cd89c8c53801a450b896185ff5f292d69f46113999"}, /* soak_compare gfx942 */
    {"8c2105be27cdb9a6", "4b56ccef8767557fc3a8c1e6c17c48f174b9da1b5957e32fb923ed8fdd8e8644"}, /* mla_v_out/stream_fp8 sm_90a */
    {"8cd0683652dadd62", "f43858a4120013c83dd1ad506b7d48afa8b87cf8bea5f70cf66b037755de47ad"}, /* mla_q_b/mma_append sm_90a */
    {"8e05af6fe2f87d09", "9702876c9420fa6b0e1488a73e4cbe3d92036755047cc996f70732376092cd25"}, /* mla_q_absorb/mfma gfx942 */
    {"8f214c918c590adf", "00fa85ee3f5dba89c5c5ad50822f4295ee1b23741f64f7641af5d0fe07ceef9d"}, /* mla_o_proj/staged gfx942 */
    {"8f296e5cb8fd93bb", "828b4d8fb0afa6a31432b0849c8ff0ff0b886a7e7cf27e081eb327135e4fc02e"}, /* mla_v_out/dot gfx942 */
    {"91a1c4d10938b106", "8b609e1fb32ab0eef26ff68051cffc72e2579ebcf4c5815b1401e9d432db9c4e"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"92bb31b52fe2edde", "236c7f32a12e1237e6bdafc862b3c09cf0f14a626dd9b9a3765caa628af81c67"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"92e4ea93fa8f128a", "d94993a89dd732d93c40e5e6cf2d198e5fa263e665444ed7b535c6325bc93639"}, /* mla_qkv_a/dot gfx942 */
    {"9348ee8eeb359d59", "891ab5dac1183ba8fa27245071838f5c0bee9512246ad483da3bb45e02d224b3"},
      /* mla_decode/mfma_reg_cache gfx90a */
    {"938a154e58268e3d", "8b609e1fb32ab0eef26ff68051cffc72e2579ebcf4c5815b1401e9d432db9c4e"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"938e8f915ab05853", "9e17fe976c97eca9926d9e95175b699b0886269b8f53d2333a97b0fde91f3024"}, /* mla_append/rows gfx942 */
    {"93c60847d39f1923", "cb878b6270fef02f8730d6777177ce6d7f3fd661d11971bf224df9cf4891937e"}, /* concat_keys sm_90a */
    {"93dc9cce28237cfd", "4072b4be9ec78c280912ec4e6ae1219529eec268ac8c5a791ac66c47c14797e0"}, /* attn_sink sm_90a */
    {"94015211a1ee792d", "32980e8b28c0308cbf2947df7a4d188f4d4b0c893fa53aa5f8e87d96c8f643d7"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"94301f3392537983", "f1f5c9a16564d401904732cd89c8c53801a450b896185ff5f292d69f46113999"}, /* soak_compare gfx942 */
    {"9555662c1c7885cc", "8e070f0175c23b9a9459ef39975d16464846db5c9b6207fab22feba6ea6cbe9f"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"956f66708f73d806", "ece0dca14dd127820dc9f8b87c3d527d83a5e9609ec88602edc11714648e7ea9"}, /* mla_v_out/dot sm_90a */
    {"962fd6b491492b26", "3f7bbe709e3d47687d931482de22d570492930f04fb95d9fe20f3537202f99bc"}, /* mla_q_absorb/walk sm_90a */
    {"9661fc2d10fd646a", "dc00cd70cd950e785c9ae8bfa191b7215473afd353a430b6f4b93765209834da"}, /* mla_v_out/staged gfx942 */
    {"96ba63f2a9db33e7", "17fecb27379ed898006f9e94a72f357e2bc3b4d8457fa0dc1d0f2c598989cee0"}, /* mla_q_b/mma sm_90a */
    {"971540eebfbfb880", "86c6fb837ba5acb10db0ae1db6a8d8d3eb874e764436256fdcca5bccf7357efb"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"97217a77154e7402", "eb8e6943f5779dbb408b078ee1c6a331584721008ea5de45b3264f587d7a6a8f"}, /* mla_v_out/mma sm_90a */
    {"977460e087ca0396", "800e02f5e241caa02ad433aa060fcaddf7ea51594d880f7a1b9c0da3329ae58e"}, /* mla_q_b/ring sm_90a */
    {"97c2f91e375d8cbf", "b056e3cff6cadce51b5ce1653120db5dbf991b97619c24c4b9cff66d45a2ab69"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"986fba81527209b3", "294f9bcd3722f4d6a5c3e30e92842d730dc269edd529f98767a8433729dd3688"}, /* mla_qkv_a/dot sm_90a */
    {"9a042f67cd07cee8", "e5a02ffd8451485f04a759cb1c5e335e35dcbbe036d4e94201b93c64db798323"}, /* mla_q_b/aside sm_90a */
    {"9aa985e2e3c47340", "357feea5cdbb99aff681af66f4f8bedb31639edd65571116024c342246a6d33f"}, /* mla_q_absorb/dot sm_90a */
    {"9ad0ffd1a7e94f79", "3bc91d48811b986303f3098758bba94664a58f71a2b1c5bde82b680f654eb6fd"}, /* mla_decode/mfma_lds gfx942 */
    {"9b012a35a13f46d5", "800e02f5e241caa02ad433aa060fcaddf7ea51594d880f7a1b9c0da3329ae58e"}, /* mla_q_b/ring sm_90a */
    {"9b7350f253b22f15", "6a92c932651739c85b1f0e0fe0e9a5ccc60cf25eb441a4225d5e900f678ccbd7"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"9bc33e2a982098d6", "a29a87d12db9ddf927d3d99f7fc6f7af8c00a41f9e975ad68a2322772395db2f"}, /* mla_o_proj/mma sm_80 */
    {"9bf36941b9a1e459", "b1dadfdf6c9afaad74d80e795341b77255b766fa4afbe10a8b583016e02aad91"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"9bf897a1a50e1774", "486d3421bf0c20f63278784fdda5a433c33bda33015d811687bc5607bd9d0b6f"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"9bfd03980d8e9678", "025edceb24d8be3e35a4565c7648a33b73afa911a08240187ba60c66b30dfc40"}, /* mla_dequant/rows sm_90a */
    {"9c2dc138e91b2992", "9eaa79ef5f40da195b10fef5074308412605980e6f8c3e3c5b17fdfe188b3b80"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"9c9c76eab82d91e4", "fd195cf936da9311f98da840b516f75e1a7f846385883a8949386f0e70992985"}, /* mla_decode/mfma_reg gfx90a */
    {"9e417b363cb1d8ec", "c11f4930abcd65b66929007d16d42702c069c9ebd14c80034a8366a2aea34fd6"}, /* mla_v_out/mma_fp8 sm_80 */
    {"9f306a46bec40e7a", "309a2c36f9cb32b630049a488618b5c40d7c65388e109c16552a333dc7ca2298"}, /* mla_index_append/rows gfx942 */
    {"9f3871459b971efa", "c5c2a906e9fa92c5e6d1b9903419026239269aa14f4b5d2ae5b085f0634db8d2"}, /* mla_v_out/mfma gfx942 */
    {"9fcbafc8a17e183a", "00fa85ee3f5dba89c5c5ad50822f4295ee1b23741f64f7641af5d0fe07ceef9d"}, /* mla_o_proj/staged gfx942 */
    {"a09e9a876811bebb", "fec4d12a908db47f3da0836e2d8ffef240f5c35bbf90960fa04522e1ebf06f17"}, /* mla_decode/combine_warp sm_90a */
    {"a0e1eca774e2167b", "722646d519e93b4490569bfdaec9a21c8361fb01faa6bc83d9e1e459993fd7fe"}, /* mla_v_out/ring_fp8 sm_90a */
    {"a12b30303d074e04", "aecc2560101f5ae7d382a9fea212ecef22fa893bf77e3eee76f5b697cc8652ba"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"a15594bed108b313", "d4e8354a7e071e2b1053083e0f60635e591febcacb86fa75d6c6311b2f1ec15b"}, /* mla_q_b/staged_append gfx942 */
    {"a16461ec933b7c4a", "590b9a9f4d6dd6da6665524cbccc208bf15cb2b4fa80bdd3a42046c73c2b2c89"}, /* mla_qkv_a/mfma gfx942 */
    {"a1a6bd9620492fab", "4c51a10a39976ed351de0a61157936a07a8920b19be16a2d19b711164d3a4f89"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"a21ff199eaf72f0c", "9702876c9420fa6b0e1488a73e4cbe3d92036755047cc996f70732376092cd25"}, /* mla_q_absorb/mfma gfx942 */
    {"a2492383084e932b", "17fecb27379ed898006f9e94a72f357e2bc3b4d8457fa0dc1d0f2c598989cee0"}, /* mla_q_b/mma sm_90a */
    {"a2af323dd468df60", "3faebf511fd930e7af6c6a2b71ee2523e7206b110a819accfed424d0820f6cd5"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"a2b4bea8b9873085", "c282ea20694c51e70c5c50efc70bca2e6e79f8996eef07855e721c7031251788"}, /* mla_gather_kv_b/mma sm_90a */
    {"a2e4c907187f96cf", "590b9a9f4d6dd6da6665524cbccc208bf15cb2b4fa80bdd3a42046c73c2b2c89"}, /* mla_qkv_a/mfma gfx942 */
    {"a3b6b7c69613e157", "4f4c3df8dbad80bc5528fa68960f40e12d49cdd0a4be1cb6b662af04c45fff48"}, /* mla_q_b/dot_append sm_90a */
    {"a46495f3664ee8a4", "025edceb24d8be3e35a4565c7648a33b73afa911a08240187ba60c66b30dfc40"}, /* mla_dequant/rows sm_90a */
    {"a48fd4f4b9163077", "a715c49958b5f3467eacc50e165aace779aae3f3828f1baaa2cd61820ad0460e"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"a4973133745cccdf", "67f061dadf34617b5c89109845c55cdda9dcc85f609eb9e094cede0ec2f8c3ab"}, /* mla_decode/mma sm_80 */
    {"a4ecfda163039c4e", "d404f923036e2c2d90da1e2f548e4284b9a75d6f322ef984bcfb3f63a0438f14"}, /* mla_q_b/stream sm_90a */
    {"a529308f0bc4374f", "9eaa79ef5f40da195b10fef5074308412605980e6f8c3e3c5b17fdfe188b3b80"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"a631d2d0c021b5f6", "ca4b9b6396a1af38da1e4b17e7e98e153265022b8db93a76889a33e09b4d2282"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"a6e84acfad96c50f", "c5c2a906e9fa92c5e6d1b9903419026239269aa14f4b5d2ae5b085f0634db8d2"}, /* mla_v_out/mfma gfx942 */
    {"a715dcdb5f52feeb", "81e11b52124556c714ea05522220f8b3ede04fc3f4cc5459102d0657dee995b2"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"a71daace801b5798", "dc6713dae89fb037f83ab39d31d7b30648b52a553782c9a0af3e6069254e6330"}, /* mla_merge/rows sm_90a */
    {"a7c3eef1bb5d0f25", "c253ec8d450dca4706f1e82663abb2e440096db75d62744e03994c4ee02e725b"}, /* mla_decode/sm90_raw sm_90a */
    {"a7d79925e193690f", "e5edd5a28f1fb4cd14df0697491cf4153d105e0b5b3dcea280396ce44fe703cf"}, /* mla_decode/sm90_mid sm_90a */
    {"a8f8cf4e76253180", "4a38b6950121e15e4a804a681ddccf3fb2d0338230c12710dc265b80ab20782f"}, /* mla_prefill/mfma gfx950 */
    {"a940949bf9c0441e", "364bafe005190a5f88fa1950ca018381c27fa0f2ff6a2d55a2ed916ba6fe764b"}, /* mla_append/rows sm_80 */
    {"aafbd36910bbb7f9", "357feea5cdbb99aff681af66f4f8bedb31639edd65571116024c342246a6d33f"}, /* mla_q_absorb/dot sm_90a */
    {"ab77397d475e608e", "3816b798fb7718498e6975877e0512f891d0e754c43777b5e5149d28e2b4f235"}, /* read_ceiling sm_90a */
    {"ab800a2dbd6d0e50", "c11f4930abcd65b66929007d16d42702c069c9ebd14c80034a8366a2aea34fd6"}, /* mla_v_out/mma_fp8 sm_80 */
    {"ab99030509adb5e2", "4c6c4aa9ff62065a78bee29d8e91a7d4e6ef8754716a54ebc53b989d75106006"}, /* mla_decode/mma_cache sm_90a */
    {"abfc776a26e53a9d", "7bddac1778d50c75e155c274d016396634cb807da049f5c0d1ad5db6fb176489"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"ac3e2cf0ec4365ca", "41d4b08cceeb496f9a68b24717dfd0aaf6b569bc229f357397fdea1597763b96"}, /* mla_q_b/mfma gfx942 */
    {"ac8b8966e293a69a", "92f34ee333d3cff760c95faa8c95a8090bc558c9335b8ea9b83cbf0406663ddc"}, /* mla_qkv_a/mma sm_90a */
    {"acf11eb4c09bfd7f", "8242ab23b5d581b79503caad3c035eca73c166f8fa6d8eea44ae52dd25d73b78"}, /* mla_prefill/mma_fp8 sm_89 */
    {"acfc4fd4694233f5", "b1dadfdf6c9afaad74d80e795341b77255b766fa4afbe10a8b583016e02aad91"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"ad19f746805fba93", "e5edd5a28f1fb4cd14df0697491cf4153d105e0b5b3dcea280396ce44fe703cf"}, /* mla_decode/sm90_mid sm_90a */
    {"ad48640e3ac022a5", "d65b5b76124ef038838374b3f94ded081c2fc89bc3afe43d33fe8ef512deb94c"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"ad6b4d2ac89d19c9", "782f202107322238ffef293ef8752b47030d4ff087282f6a404c3eb5b1c474fe"}, /* mla_merge/rows gfx942 */
    {"adc5214e0e039a3a", "d4e8354a7e071e2b1053083e0f60635e591febcacb86fa75d6c6311b2f1ec15b"}, /* mla_q_b/staged_append gfx942 */
    {"ae1330de6946a643", "24ac2b9c35f3632c357b52ea3eac8009be7f06e240949cbe5b9bb402d22b7ab2"}, /* mla_prefill/mma sm_86 */
    {"ae7df522d7b0d182", "782f202107322238ffef293ef8752b47030d4ff087282f6a404c3eb5b1c474fe"}, /* mla_merge/rows gfx942 */
    {"aeb310e19c702567", "81e11b52124556c714ea05522220f8b3ede04fc3f4cc5459102d0657dee995b2"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"afdd8eadfc3a69bd", "1164b8f6e3c9840b4c5935af84d92a413281923e086b666832bb5534361bbe57"}, /* mla_q_absorb/mma sm_80 */
    {"b149beb2f4017ff4", "357feea5cdbb99aff681af66f4f8bedb31639edd65571116024c342246a6d33f"}, /* mla_q_absorb/dot sm_90a */
    {"b1561958ac08dc13", "bc6ef43e5c6ca3e2bd5b3978e3dc36265766a752fc2147620940c28225e0ff87"}, /* mla_o_proj/dot gfx942 */
    {"b1cf50520cde8c47", "42a8d919388844cd87b7f8a2847a9fa745d728bffb45615dbdccdad60a1f3a44"}, /* mla_q_b/mma sm_80 */
    {"b27f2d87d753cd94", "fec4d12a908db47f3da0836e2d8ffef240f5c35bbf90960fa04522e1ebf06f17"}, /* mla_decode/combine_warp sm_90a */
    {"b29f9821d8c0c7ec", "01ce240db1c61bc143d7ac0982a2bdb58e75d572701a2e6661e63fc52e3347ad"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"b32a95f0f29397ce", "2765c884af1b3164df5c4339dd4a618d1eb9d3050ae02bca3169670654a22741"}, /* mla_gather_kv_b/aside gfx942 */
    {"b3647cd2f5662e42", "3d640fcbd4fadacb9caa6468b85e6612a46d17b299af0a738d7694e99a2f217d"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"b426da8a0f9dbec5", "dc00cd70cd950e785c9ae8bfa191b7215473afd353a430b6f4b93765209834da"}, /* mla_v_out/staged gfx942 */
    {"b5546abc5c7d8e24", "fbff5e22c7a867085f7a446546bebb7d3a8ed1a9ea93cea3f7ef4e9969274e2d"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"b5fd81e5c61fc235", "ec80379b8e86438916d1d8d76a60c6a222cfa68a835a6de87ea316fcbbf10d29"}, /* mla_gather_kv_b/mfma gfx90a */
    {"b623d1b7d4d2dba8", "98d426be0f93bfb9fbf3c0ea1005287eb56e5ef829b4a4fcdcca482fa60d478d"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"b6b36a556e20b0aa", "d6a5e0fda28e9de4a13f5f0264a3bc0ea47f7499d71838f21a898fb1e9141a3d"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"b6fe2bf8388b9e10", "c0d826021c5dd77f7e76cd839140bd34bffdcbfe57bdb948377d51dfeba99b1c"}, /* mla_o_proj/ring sm_90a */
    {"b700fe35bd7bcce3", "0d5f0670856d4fd987f176e8a63e3bdb32fa89f9151413f426818403fc5df9dd"}, /* mla_dequant/rows gfx942 */
    {"b743e9468e2dfc4d", "486d3421bf0c20f63278784fdda5a433c33bda33015d811687bc5607bd9d0b6f"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"b7e02e8677038e0a", "590b9a9f4d6dd6da6665524cbccc208bf15cb2b4fa80bdd3a42046c73c2b2c89"}, /* mla_qkv_a/mfma gfx942 */
    {"b819c3fc55c5cb66", "01db16e81fedcd6a34bc33bafdf07321feb5af633a9ef22f840441a22428ff12"}, /* mla_q_absorb/stay gfx942 */
    {"b8e1df8086884e7e", "80b0311a5b664a9559ced2f488c70fc6ec9cd14347ae8d0393508a0b39f159f9"}, /* mla_v_out/ring sm_90a */
    {"b90bd3a1a60e54dd", "17fecb27379ed898006f9e94a72f357e2bc3b4d8457fa0dc1d0f2c598989cee0"}, /* mla_q_b/mma sm_90a */
    {"b93851c31cfccd73", "0d5f0670856d4fd987f176e8a63e3bdb32fa89f9151413f426818403fc5df9dd"}, /* mla_dequant/rows gfx942 */
    {"b959897e221ae472", "7e097ed499121755798d5cd6f846b43731b7f62dec0fce52f95fd669cd372dc6"}, /* mla_qkv_a/ring sm_90a */
    {"b9fd5ab84f14ca85", "06c9b90d6c1c41c8e5dd383ddebf5ee8405a489c81f60add9e9be5c5954beed1"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"bba545d65befe4ca", "06348c898fec4bbb34b97d827e696a2d2b0713a094320a633154169fb4c24ca2"}, /* read_ceiling gfx942 */
    {"bbe7a78957724633", "fbff5e22c7a867085f7a446546bebb7d3a8ed1a9ea93cea3f7ef4e9969274e2d"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"bc81d517dfdb4e7a", "f43858a4120013c83dd1ad506b7d48afa8b87cf8bea5f70cf66b037755de47ad"}, /* mla_q_b/mma_append sm_90a */
    {"bca4455dd9513827", "cd5cd95309b4dec907deb998a4e34b5ffa8c9af8cfc07e4bfc57f8fd5313761a"}, /* mla_decode/mfma_reg gfx950 */
    {"bdd6924ebb60a765", "4b56ccef8767557fc3a8c1e6c17c48f174b9da1b5957e32fb923ed8fdd8e8644"}, /* mla_v_out/stream_fp8 sm_90a */
    {"be8ffb9ae2e2a544", "d94993a89dd732d93c40e5e6cf2d198e5fa263e665444ed7b535c6325bc93639"}, /* mla_qkv_a/dot gfx942 */
    {"beaa4ccc646b8464", "67f061dadf34617b5c89109845c55cdda9dcc85f609eb9e094cede0ec2f8c3ab"}, /* mla_decode/mma sm_80 */
    {"bf6063f8feb8e3a4", "1c242011597c6ee314c1763ad71250898c4019c79c372bd35d89a8cc67bc266d"}, /* mla_qkv_a/staged gfx942 */
    {"bfd1ec9e79aa16e0", "dc6713dae89fb037f83ab39d31d7b30648b52a553782c9a0af3e6069254e6330"}, /* mla_merge/rows sm_90a */
    {"c08bc396b464ef4a", "f28faad813ff71c83bf567770510a8e7d0f2d4ceef1942fbc40a80dda03b2965"}, /* mla_prefill/mfma_asm gfx942 */
    {"c09735b7730a2983", "fbff5e22c7a867085f7a446546bebb7d3a8ed1a9ea93cea3f7ef4e9969274e2d"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"c0f8b61afcd80638", "6a92c932651739c85b1f0e0fe0e9a5ccc60cf25eb441a4225d5e900f678ccbd7"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"c2b085332487e473", "67f061dadf34617b5c89109845c55cdda9dcc85f609eb9e094cede0ec2f8c3ab"}, /* mla_decode/mma sm_80 */
    {"c33d04aa5fe734c3", "46e5cf80bbd17d4280367bea2fc6e464e61be3ff681307345170c1a2b20b5e3e"}, /* mla_gather_kv_b/mfma gfx942 */
    {"c3429ca9d75093ec", "42a8d919388844cd87b7f8a2847a9fa745d728bffb45615dbdccdad60a1f3a44"}, /* mla_q_b/mma sm_80 */
    {"c36bcd1ea540ef06", "c4b513363c26a7872525901f98630f7543bfa1f62158b393a7015f315d2c766d"}, /* mla_v_out/wide_fp8 sm_90a */
    {"c397823d2ef1154f", "80b0311a5b664a9559ced2f488c70fc6ec9cd14347ae8d0393508a0b39f159f9"}, /* mla_v_out/ring sm_90a */
    {"c42f0d135432acfb", "364bafe005190a5f88fa1950ca018381c27fa0f2ff6a2d55a2ed916ba6fe764b"}, /* mla_append/rows sm_80 */
    {"c46d3c1bda881613", "f28faad813ff71c83bf567770510a8e7d0f2d4ceef1942fbc40a80dda03b2965"}, /* mla_prefill/mfma_asm gfx942 */
    {"c4ada4dbac54709c", "1c242011597c6ee314c1763ad71250898c4019c79c372bd35d89a8cc67bc266d"}, /* mla_qkv_a/staged gfx942 */
    {"c5f3d2cb92561ae1", "92f34ee333d3cff760c95faa8c95a8090bc558c9335b8ea9b83cbf0406663ddc"}, /* mla_qkv_a/mma sm_90a */
    {"c61cc9f453be4427", "43cbeb7e067ca52ceaf04d41069382deb43ea222ca3fa85fd53c3e8c45f72510"}, /* mla_prefill/mfma gfx942 */
    {"c64160f818f20bc3", "b294329ac36a178ac123b5eab956a65e87d247537595e0e60405885391e86856"}, /* mla_gather_kv_b/aside sm_90a */
    {"c698f1ff3355683a", "92f34ee333d3cff760c95faa8c95a8090bc558c9335b8ea9b83cbf0406663ddc"}, /* mla_qkv_a/mma sm_90a */
    {"c7e309359e95d7ab", "754be7a04aca1be132ae6f04ab4ed28c8b5ecf8bc18ad53d889efb07e2da4523"}, /* mla_q_absorb/mma sm_90a */
    {"c85c347fd6cfa920", "a29a87d12db9ddf927d3d99f7fc6f7af8c00a41f9e975ad68a2322772395db2f"}, /* mla_o_proj/mma sm_80 */
    {"c9afeb7cfc83ef2c", "3d640fcbd4fadacb9caa6468b85e6612a46d17b299af0a738d7694e99a2f217d"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"ca3b8777e995ab00", "80b0311a5b664a9559ced2f488c70fc6ec9cd14347ae8d0393508a0b39f159f9"}, /* mla_v_out/ring sm_90a */
    {"cab6eadd5bbbec5c", "198d0a8f3e45c323482e120070afdc621ae0fa8e644694d5b2c9a9e5e7905c5c"}, /* mla_merge_parts/rows gfx942 */
    {"cae65cbf6159cc54", "3816b798fb7718498e6975877e0512f891d0e754c43777b5e5149d28e2b4f235"}, /* read_ceiling sm_90a */
    {"cb0b99a921cf7ece", "d65b5b76124ef038838374b3f94ded081c2fc89bc3afe43d33fe8ef512deb94c"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"cb0c95e0efb16b7b", "4a38b6950121e15e4a804a681ddccf3fb2d0338230c12710dc265b80ab20782f"}, /* mla_prefill/mfma gfx950 */
    {"cba87a1dd7a64c6c", "d64572059936a8a9d42373fe506568e40ba40f0570c57ea00fde32c28cc27489"}, /* mla_o_proj/mma sm_90a */
    {"cbbfe15fc866d9d1", "eb8e6943f5779dbb408b078ee1c6a331584721008ea5de45b3264f587d7a6a8f"}, /* mla_v_out/mma sm_90a */
    {"cc3ee5ae71a792ca", "d404f923036e2c2d90da1e2f548e4284b9a75d6f322ef984bcfb3f63a0438f14"}, /* mla_q_b/stream sm_90a */
    {"cc79d5511430877c", "1d70ec932e74ee10f0f31b72bf42e1a3707375568681069751c8d7752f13601f"}, /* mla_append/rows sm_90a */
    {"ccf5e35f481808cb", "a29a87d12db9ddf927d3d99f7fc6f7af8c00a41f9e975ad68a2322772395db2f"}, /* mla_o_proj/mma sm_80 */
    {"cd10c0438631488c", "df905d77db4c92f216d192938ec262a60e1e89910528e42d347a78c3a284eb11"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"cd49b3674f0c7e67", "9eaa79ef5f40da195b10fef5074308412605980e6f8c3e3c5b17fdfe188b3b80"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"cd902e5bbd581aae", "2cb4c1ea5bb94f8202d11649c8df63ccd47c620bb5e535a373009248bd1aef35"},
      /* mla_decode/mfma_reg_cache gfx942 */
    {"cdc0fe067299937a", "457d47bafbf8814a57fae6302dbc9646d1e83527bb2ed9d066b88d54956b0ec3"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"cdd5cbbf85eda0ca", "80b0311a5b664a9559ced2f488c70fc6ec9cd14347ae8d0393508a0b39f159f9"}, /* mla_v_out/ring sm_90a */
    {"cde7285a424254f8", "ece0dca14dd127820dc9f8b87c3d527d83a5e9609ec88602edc11714648e7ea9"}, /* mla_v_out/dot sm_90a */
    {"ce3e40f3d1fa2a51", "2c25fa178da6c314d3cd453c83783692954aecb1c44451574f0f9be00eee424b"}, /* mla_q_b/dot sm_90a */
    {"ce9a8c634a206a9a", "17fecb27379ed898006f9e94a72f357e2bc3b4d8457fa0dc1d0f2c598989cee0"}, /* mla_q_b/mma sm_90a */
    {"cf30f271fdd0687d", "eb8e6943f5779dbb408b078ee1c6a331584721008ea5de45b3264f587d7a6a8f"}, /* mla_v_out/mma sm_90a */
    {"d13efa6abd3d3c6e", "a2068df8e80405ee0e15ab7b45bf5a530a517ac23cdbc30c798bbeca1ab5e806"}, /* mla_decode/mfma_reg gfx942 */
    {"d166632f905e7360", "b22788d9f17d15187538f4b017e99d8f26bdd7d3462b91fb52a5aed79cc70a6a"}, /* mla_q_absorb/dot gfx942 */
    {"d1b6999f1e51df85", "46e5cf80bbd17d4280367bea2fc6e464e61be3ff681307345170c1a2b20b5e3e"}, /* mla_gather_kv_b/mfma gfx942 */
    {"d1cfc1e4166bbb03", "2ab3be7848180dbb6cf580cd9de263096fafeafd2c1e9d94e606901138e09a1e"}, /* mla_dequant/rows sm_80 */
    {"d1e7ebab851653d0", "32980e8b28c0308cbf2947df7a4d188f4d4b0c893fa53aa5f8e87d96c8f643d7"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"d232da02ec8d7a98", "f421c079ab57ec3eb91e0b534fde5bbec4b58c99b0d42f1cc10ef648458f32a9"}, /* mla_o_proj/dot sm_90a */
    {"d25d9c7df18f490f", "745db3110b34f0cccadbcf3e00541007745e1051fedf9ab6417a71de185ebb73"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d294d16ccf883909", "f3c2bb01712129aff0256da2de182db4fca2549c844f80e34b6d26caa1add49d"}, /* mla_q_b/stream_append sm_90a */
    {"d2c29f83f87fee98", "745db3110b34f0cccadbcf3e00541007745e1051fedf9ab6417a71de185ebb73"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d3172dcda4937dbc", "00fa85ee3f5dba89c5c5ad50822f4295ee1b23741f64f7641af5d0fe07ceef9d"}, /* mla_o_proj/staged gfx942 */
    {"d36da41e7506ad86", "758d9cffe5376754f4c0c2bffb6a5f0d3826648292060c4d88a894d604193927"}, /* mla_q_b/aside gfx942 */
    {"d3e5a658ede3af7b", "f0e3909759de37f7542cee2e29267bd736e091dd33a01c969ada6153be9ac61f"}, /* mla_qkv_a/mma sm_80 */
    {"d4d98376ebb0e13a", "eb8e6943f5779dbb408b078ee1c6a331584721008ea5de45b3264f587d7a6a8f"}, /* mla_v_out/mma sm_90a */
    {"d56630605a142e3b", "d053e777535fa3cf5a71a72ae25203c2aa3e15654e51c265dab4eb985cd72be8"}, /* mla_q_b/mfma_append gfx942 */
    {"d59d76204ac08483", "f3c2bb01712129aff0256da2de182db4fca2549c844f80e34b6d26caa1add49d"}, /* mla_q_b/stream_append sm_90a */
    {"d63e11282cd1c7f3", "4c6c4aa9ff62065a78bee29d8e91a7d4e6ef8754716a54ebc53b989d75106006"}, /* mla_decode/mma_cache sm_90a */
    {"d6d7b154f8b71289", "8d9d3251d758d738428e8a341f8e70fbd6df60b493f9a298d7f20a9e51cb4b81"}, /* mla_index/sm90 sm_90a */
    {"d883ce75eecdc7a1", "01ce240db1c61bc143d7ac0982a2bdb58e75d572701a2e6661e63fc52e3347ad"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"d8af74c2ed88d78a", "eada59c16420148b837becd507355c15d598018ce06719e64151effd7be29422"}, /* block_tables gfx942 */
    {"d908af73d5190412", "828b4d8fb0afa6a31432b0849c8ff0ff0b886a7e7cf27e081eb327135e4fc02e"}, /* mla_v_out/dot gfx942 */
    {"d96a4ce34a3c862e", "aecc2560101f5ae7d382a9fea212ecef22fa893bf77e3eee76f5b697cc8652ba"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"d9a9ddd947a4ad27", "b056e3cff6cadce51b5ce1653120db5dbf991b97619c24c4b9cff66d45a2ab69"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"dbd50aace2ffb818", "f09c6ec5bc09e9905045f4e8201ca14bede8e8e4f873c6ababfef13a77fbbd1c"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"dce33628c7241248", "ec80379b8e86438916d1d8d76a60c6a222cfa68a835a6de87ea316fcbbf10d29"}, /* mla_gather_kv_b/mfma gfx90a */
    {"dda3569535b90f07", "ad26c07e592908b38ebed0a35281dc1183d8199caa1ad994d544d2a42ef617f6"}, /* mla_q_b/dot gfx942 */
    {"df4d6a75d60dd547", "7bddac1778d50c75e155c274d016396634cb807da049f5c0d1ad5db6fb176489"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"df4f872c4e5532a0", "a33c777860ab0119f1746336a694d58f71d5ce7544b1170f254a7316dcb92907"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"df6fc2b84a4c703c", "c0d826021c5dd77f7e76cd839140bd34bffdcbfe57bdb948377d51dfeba99b1c"}, /* mla_o_proj/ring sm_90a */
    {"dfe7bc2806db7bd2", "d404f923036e2c2d90da1e2f548e4284b9a75d6f322ef984bcfb3f63a0438f14"}, /* mla_q_b/stream sm_90a */
    {"e094f62348d5ee98", "9eaa79ef5f40da195b10fef5074308412605980e6f8c3e3c5b17fdfe188b3b80"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"e09dc0433f2995d9", "8b609e1fb32ab0eef26ff68051cffc72e2579ebcf4c5815b1401e9d432db9c4e"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"e129f9f27d91f9cf", "cb878b6270fef02f8730d6777177ce6d7f3fd661d11971bf224df9cf4891937e"}, /* concat_keys sm_90a */
    {"e17d781febbcb8a3", "1bd913de7ed371984ba0ddb62fb66dd5007fe122a267270483cce61d63e84c63"}, /* mla_index_append/rows sm_90a */
    {"e1b1a52cc34f2a48", "534160a12b5da786498d98727eacd07adddb42af38f848aee4f569e022427ed4"}, /* mla_q_b/dot_fp8 sm_90a */
    {"e1f35845e0591d1b", "3d640fcbd4fadacb9caa6468b85e6612a46d17b299af0a738d7694e99a2f217d"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"e35f4b1a5aceb195", "24ac2b9c35f3632c357b52ea3eac8009be7f06e240949cbe5b9bb402d22b7ab2"}, /* mla_prefill/mma sm_86 */
    {"e36c0b142ce0220a", "800e02f5e241caa02ad433aa060fcaddf7ea51594d880f7a1b9c0da3329ae58e"}, /* mla_q_b/ring sm_90a */
    {"e43f36a18f0f29f9", "364bafe005190a5f88fa1950ca018381c27fa0f2ff6a2d55a2ed916ba6fe764b"}, /* mla_append/rows sm_80 */
    {"e4e12da852d7ea57", "b056e3cff6cadce51b5ce1653120db5dbf991b97619c24c4b9cff66d45a2ab69"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"e50173d02b7492e1", "b22788d9f17d15187538f4b017e99d8f26bdd7d3462b91fb52a5aed79cc70a6a"}, /* mla_q_absorb/dot gfx942 */
    {"e50d0f398e2cd416", "f30a6806058b83bc477ea3d634fafe59493c447f1fc50ab2aa26a3cd33dbe6cc"}, /* mla_o_proj/stream sm_90a */
    {"e5a07cb9cf92db93", "43cbeb7e067ca52ceaf04d41069382deb43ea222ca3fa85fd53c3e8c45f72510"}, /* mla_prefill/mfma gfx942 */
    {"e63bf01e07025e26", "457d47bafbf8814a57fae6302dbc9646d1e83527bb2ed9d066b88d54956b0ec3"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"e64e0ab78bd4ec04", "2ef6dbe4f45fdbe6d6ace78b9bcc7c32edff661efb41b30e72db10e3ca4d4a4a"}, /* index_pools sm_90a */
    {"e6507ff3310c7382", "bc6ef43e5c6ca3e2bd5b3978e3dc36265766a752fc2147620940c28225e0ff87"}, /* mla_o_proj/dot gfx942 */
    {"e67e3cacd38f3349", "9702876c9420fa6b0e1488a73e4cbe3d92036755047cc996f70732376092cd25"}, /* mla_q_absorb/mfma gfx942 */
    {"e6efa6cefdf37e00", "c11f4930abcd65b66929007d16d42702c069c9ebd14c80034a8366a2aea34fd6"}, /* mla_v_out/mma_fp8 sm_80 */
    {"e77f72e13a98b811", "9d9ee190057fed848c1c4d5e68098fc1087a2d709bf6f0f5a93f479156e8d64b"}, /* mla_gather_kv_b/mfma gfx950 */
    {"e8342ddea5e060ee", "807616b84f0ba6afa03be50b1c9a9734f0296057f4dfb35b496fd5adafde8902"}, /* mla_q_absorb/aside sm_90a */
    {"e8595552b2925149", "2841baeebc02dee967e1221a06fbc952afd222c0c95eb2a793dda127ba83042a"}, /* mla_q_scale/rows gfx942 */
    {"e860c5ca17ab8a60", "eaf6efac8227d8ca045aa6e40a1c91c00e257d365d720f808234ac8c08afecaa"}, /* mla_q_b/ring_append sm_90a */
    {"e89c78989b20c293", "8e070f0175c23b9a9459ef39975d16464846db5c9b6207fab22feba6ea6cbe9f"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"e91a6b08ef6da509", "cb878b6270fef02f8730d6777177ce6d7f3fd661d11971bf224df9cf4891937e"}, /* concat_keys sm_90a */
    {"e9bc18543f6bc1be", "73c9c117518bc867052f857277a91d2f28b6b36db73508e68046fcf5611a4821"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"ea7c7b4870086b48", "e9bcc61e3792c10a05de072996965862ea38798f257027ad1476169756301015"}, /* mla_decode/mma sm_90a */
    {"eb5503cf2cf51a93", "486d3421bf0c20f63278784fdda5a433c33bda33015d811687bc5607bd9d0b6f"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"ec9a8206a7534816", "3fa91a59f51dfed255cc4d5a66316c8abc00b5ab5eea18ff6d4c0e98e4f3d5f3"}, /* mla_q_b/stream_fp8 sm_90a */
    {"ece7b8b51660bd3a", "b22788d9f17d15187538f4b017e99d8f26bdd7d3462b91fb52a5aed79cc70a6a"}, /* mla_q_absorb/dot gfx942 */
    {"eda0723824ec859e", "590b9a9f4d6dd6da6665524cbccc208bf15cb2b4fa80bdd3a42046c73c2b2c89"}, /* mla_qkv_a/mfma gfx942 */
    {"edd8c1b1a97ba061", "01db16e81fedcd6a34bc33bafdf07321feb5af633a9ef22f840441a22428ff12"}, /* mla_q_absorb/stay gfx942 */
    {"ee501e583f85c0a9", "2a186c7ff4d590554678f2dccda355efc37c78d644c3c9a6b6870a025eb4e132"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"ee52adb6a3393e38", "d6a5e0fda28e9de4a13f5f0264a3bc0ea47f7499d71838f21a898fb1e9141a3d"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"ee5f032eafa8f951", "eada59c16420148b837becd507355c15d598018ce06719e64151effd7be29422"}, /* block_tables gfx942 */
    {"ee91589c9721178f", "f43858a4120013c83dd1ad506b7d48afa8b87cf8bea5f70cf66b037755de47ad"}, /* mla_q_b/mma_append sm_90a */
    {"efb746d24d08c24d", "3fa91a59f51dfed255cc4d5a66316c8abc00b5ab5eea18ff6d4c0e98e4f3d5f3"}, /* mla_q_b/stream_fp8 sm_90a */
    {"f0033153ad965c99", "ad26c07e592908b38ebed0a35281dc1183d8199caa1ad994d544d2a42ef617f6"}, /* mla_q_b/dot gfx942 */
    {"f05da81f2a1f35e1", "758d9cffe5376754f4c0c2bffb6a5f0d3826648292060c4d88a894d604193927"}, /* mla_q_b/aside gfx942 */
    {"f09f115713353e05", "86c6fb837ba5acb10db0ae1db6a8d8d3eb874e764436256fdcca5bccf7357efb"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"f0ef6cebe888e271", "4f4c3df8dbad80bc5528fa68960f40e12d49cdd0a4be1cb6b662af04c45fff48"}, /* mla_q_b/dot_append sm_90a */
    {"f16f3774af8e7f0f", "d6a5e0fda28e9de4a13f5f0264a3bc0ea47f7499d71838f21a898fb1e9141a3d"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"f1afedcfaffffab0", "ec80379b8e86438916d1d8d76a60c6a222cfa68a835a6de87ea316fcbbf10d29"}, /* mla_gather_kv_b/mfma gfx90a */
    {"f26f4404830ba1ee", "2765c884af1b3164df5c4339dd4a618d1eb9d3050ae02bca3169670654a22741"}, /* mla_gather_kv_b/aside gfx942 */
    {"f2f54cda386e669b", "b294329ac36a178ac123b5eab956a65e87d247537595e0e60405885391e86856"}, /* mla_gather_kv_b/aside sm_90a */
    {"f329356606a661c5", "7e097ed499121755798d5cd6f846b43731b7f62dec0fce52f95fd669cd372dc6"}, /* mla_qkv_a/ring sm_90a */
    {"f3f8b339390f92d6", "5957d3c8791783ac82f84a75df4c7ae3f7aff938d935fd3f9a1110ee8d71d0b4"},
      /* mla_decode/combine_values sm_90a */
    {"f43ee0ccc1d25447", "0d5f0670856d4fd987f176e8a63e3bdb32fa89f9151413f426818403fc5df9dd"}, /* mla_dequant/rows gfx942 */
    {"f48870fe8f526ddc", "7ee6d19e85a5ef0ea57a00546b23bb249ff6addb9037ff806674a08d07e7c237"}, /* mla_index/logits sm_90a */
    {"f4c2437bdec1a2a7", "3f7bbe709e3d47687d931482de22d570492930f04fb95d9fe20f3537202f99bc"}, /* mla_q_absorb/walk sm_90a */
    {"f4e9327d0c2323a9", "c11f4930abcd65b66929007d16d42702c069c9ebd14c80034a8366a2aea34fd6"}, /* mla_v_out/mma_fp8 sm_80 */
    {"f56660e824a3b5b7", "41d4b08cceeb496f9a68b24717dfd0aaf6b569bc229f357397fdea1597763b96"}, /* mla_q_b/mfma gfx942 */
    {"f5c652573bc7daee", "cd5cd95309b4dec907deb998a4e34b5ffa8c9af8cfc07e4bfc57f8fd5313761a"}, /* mla_decode/mfma_reg gfx950 */
    {"f695cbac4053a7e2", "3faebf511fd930e7af6c6a2b71ee2523e7206b110a819accfed424d0820f6cd5"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"f6a28c889e8e6892", "4f4c3df8dbad80bc5528fa68960f40e12d49cdd0a4be1cb6b662af04c45fff48"}, /* mla_q_b/dot_append sm_90a */
    {"f6a2a0bb7da35eed", "457d47bafbf8814a57fae6302dbc9646d1e83527bb2ed9d066b88d54956b0ec3"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"f6db81ec4c80cb38", "35a4b0733aaf97dd992a6cb8abaf8c9bdcb123a975a420aa05d9bab45421dffa"}, /* mla_merge_parts/rows sm_90a */
    {"f6ec20d4a70d28b0", "65c9f6fb2555017901b59543f5d34fcaad96f48b72a3ed35d840ae5ea2b9c533"}, /* mla_q_b/staged gfx942 */
    {"f7b3c75ad2349334", "2657e5730b1907bcf26c0cf2270ea833af1bce1e562561a5a3781c8c4129d309"}, /* mla_q_b/mma_fp8 sm_90a */
    {"f80b0b3bf7b847a6", "7fa0176f22bb6d0efa4b67cb5ab99f1b9b45e7cba6dac83733cd8fe602deb816"}, /* mla_q_b/ring_fp8 sm_90a */
    {"f81a5467b5d02607", "df905d77db4c92f216d192938ec262a60e1e89910528e42d347a78c3a284eb11"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"f83c1ce4924bf461", "f30a6806058b83bc477ea3d634fafe59493c447f1fc50ab2aa26a3cd33dbe6cc"}, /* mla_o_proj/stream sm_90a */
    {"f87373c9516fbbcc", "d04f858844f434dc157f10653c21842a69211706016d536b5360f044e1ebfa3e"}, /* mla_decode/mma_rotate sm_80 */
    {"f9107de0a6e1c8c6", "c282ea20694c51e70c5c50efc70bca2e6e79f8996eef07855e721c7031251788"}, /* mla_gather_kv_b/mma sm_90a */
    {"f933f37e4cff485c", "bb3560cb5703f04918416b34382d4115dad12a3cbe4e4e29c5ee3797a3f1f0a8"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"f9d40e1e27a0ba48", "8e070f0175c23b9a9459ef39975d16464846db5c9b6207fab22feba6ea6cbe9f"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"fa7567379258e5ab", "bc6ef43e5c6ca3e2bd5b3978e3dc36265766a752fc2147620940c28225e0ff87"}, /* mla_o_proj/dot gfx942 */
    {"faf8f403fe6608d3", "86c6fb837ba5acb10db0ae1db6a8d8d3eb874e764436256fdcca5bccf7357efb"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fb131547c90c6319", "13baa56743e69150fc9bbc2a51ff58cb8ebeee3ad0aca45fa2dcd5cb6b23ccde"}, /* mla_v_out/mma sm_80 */
    {"fbcb8fa6b7ca3b32", "7e097ed499121755798d5cd6f846b43731b7f62dec0fce52f95fd669cd372dc6"}, /* mla_qkv_a/ring sm_90a */
    {"fc01a79c54ac561b", "828b4d8fb0afa6a31432b0849c8ff0ff0b886a7e7cf27e081eb327135e4fc02e"}, /* mla_v_out/dot gfx942 */
    {"fcea572119263be4", "236c7f32a12e1237e6bdafc862b3c09cf0f14a626dd9b9a3765caa628af81c67"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"fd50652705a27c9d", "2e18df580e2dd7f6b0af262e6caa5b29f74f0b8f52b4ed5d85b6358b277000d7"}, /* mla_decode/mma_cache sm_80 */
    {"fd76828542943bfa", "ca4b9b6396a1af38da1e4b17e7e98e153265022b8db93a76889a33e09b4d2282"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"fda4bad61cc9fc3b", "86c6fb837ba5acb10db0ae1db6a8d8d3eb874e764436256fdcca5bccf7357efb"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fe1339afab641a22", "67f061dadf34617b5c89109845c55cdda9dcc85f609eb9e094cede0ec2f8c3ab"}, /* mla_decode/mma sm_80 */
    {"fe307bd21ac87fad", "b056e3cff6cadce51b5ce1653120db5dbf991b97619c24c4b9cff66d45a2ab69"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"fe32902222c7f464", "2a186c7ff4d590554678f2dccda355efc37c78d644c3c9a6b6870a025eb4e132"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"fec965e3184d8131", "42a8d919388844cd87b7f8a2847a9fa745d728bffb45615dbdccdad60a1f3a44"}, /* mla_q_b/mma sm_80 */
    {"feceddbe795a43ae", "c41e49c8efe6a0929c9af12a9da386dfa86fa1cca4fd3aea3a7c0bf73394740d"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"fed5809399af3475", "4a38b6950121e15e4a804a681ddccf3fb2d0338230c12710dc265b80ab20782f"}, /* mla_prefill/mfma gfx950 */
    {"ff8507ae1ea47b7d", "9eaa79ef5f40da195b10fef5074308412605980e6f8c3e3c5b17fdfe188b3b80"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"fffd175c5694285a", "2b5d47ea12b4fab6893fde6c406dcc88b5c01b1ea17c842fb7a3b84f2b7a1680"}, /* mla_prefill/mma_fp8 sm_90a */
};
const size_t mlaf_n_known_hashes = sizeof mlaf_known_hashes / sizeof *mlaf_known_hashes;
