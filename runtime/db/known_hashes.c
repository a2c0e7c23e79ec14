/* Made by tools/known-hashes.lua. Do not edit. */
#include "db/known_hashes.h"

const mlaf_known_hash mlaf_known_hashes[] = {
    {"002996cb062a4404", "956f66708f73d8063cc2282eba1924e6b36d65b7b323ce682a0bed47d1f83aab"}, /* mla_v_out/dot sm_90a */
    {"0099333f06578fb9", "43081811e5bcf8d9369a42d7b633a890261194376624304b971d97071089f377"}, /* concat_keys gfx942 */
    {"017affbcc229867c", "580cd01bf5ab9ca49fb74ee866c535a3d4faf53f24cf7bdfedbc889639408f20"}, /* mla_q_b/ring_fp8 sm_90a */
    {"0180b680018f5e05", "6b7adc45386f02d247ac31199171dc3805976e17167ab0de5f649880b04c06c4"}, /* mla_qkv_a/stream sm_90a */
    {"021a651004f64321", "bba545d65befe4ca1ff602da09b0358424880b5bfa3a513d3286faecb520ea42"}, /* read_ceiling gfx942 */
    {"0240b5582b0c94b0", "a2e4c907187f96cfbfe455e4c1be3e2b1c280313a7a3838c209f706071cb45d6"}, /* mla_qkv_a/mfma gfx942 */
    {"02accdfde69cc31f", "e8342ddea5e060ee67fd791ce2a5cbe4b49532557d7602061a3141d4ec798617"}, /* mla_q_absorb/aside sm_90a */
    {"02b66463aea36021", "ce3e40f3d1fa2a5114173d820e934ff59fdda14bdc65d2e3218d3628f0fbfa7c"}, /* mla_q_b/dot sm_90a */
    {"0392892df182e8ef", "2ba1759a118aa753e14ac19a65d320537f5f7bf56f5e85a2be2fa5d8ca05eb48"}, /* mla_qkv_a/dot gfx942 */
    {"06f67ddb30531914", "cae65cbf6159cc54b4dbc14377105df3ad24cc91c5ebd806cff788a57cca52fc"}, /* read_ceiling sm_90a */
    {"0783966d0b0829ef", "26f078ba08100f05e7dad0ca7e922f657141be7128939017d3bf3ae37a034e28"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"08b11b5748096b6c", "bfd1ec9e79aa16e00fe68a7790900554350488fae03a6c5e348bfb623d972f4a"}, /* mla_merge/rows sm_90a */
    {"08badd25596528c5", "7c383c69b2de8ddc1bf0e72ecca330a121d06e4a1fc96a51fe8afc5a8ffc2d9d"}, /* soak_compare sm_90a */
    {"0a716342774df22d", "b819c3fc55c5cb6626113788485aa9f883c472aab065723ac57311f212fdccc0"}, /* mla_q_absorb/stay gfx942 */
    {"0b4e3499fe719061", "0d8c0ea030e4951ca8a61fc9c29729e392d11e2cef7a519f36e55e84a3a68961"}, /* mla_q_absorb/aside gfx942 */
    {"0c8b5f259909808b", "f4debf9de656d0f6e0df6588883b881d29682abce58e4505cf5471fd93d15c07"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"0d4fcf8e1278bea3", "f7b3c75ad2349334d7714c22c7704a7442d5a5614e648bc3cb61f5397f4a6e1a"}, /* mla_q_b/mma_fp8 sm_90a */
    {"0d86294805a38a5e", "6d7d9e07b8616d8c393ef6ad794bd27824a160498331373f875bcc5ea4e46739"}, /* mla_decode/mma_cache sm_80 */
    {"0e2a6d59b74ede44", "43647078c6e0ad33469e2dbadd37e930b206003d607e29b41d8e1da653c44c35"}, /* mla_v_out/dot_fp8 sm_90a */
    {"0e8ae991bf5b72f3", "6515a855e45d0fa7e6337780507e9af1e4ec49f7ff96bc41ed2ec6948bb2ff09"}, /* mla_v_out/mma sm_80 */
    {"0f04903a38d4270c", "65f9041ac34a3ab7e36b1ea8cb31a02863588464c0f831e4bb5e59609d317eb0"}, /* mla_decode/combine_wave gfx942 */
    {"1032eb98904ced0f", "6b7adc45386f02d247ac31199171dc3805976e17167ab0de5f649880b04c06c4"}, /* mla_qkv_a/stream sm_90a */
    {"10d1b6e758cd7d12", "129814ac9fdb7a0ce58804d0aae58ed5b40d281ad69d2afdd34a192da6c808eb"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"124103d29b91adf7", "364f60fc9dd2cdae20fc83d4cf976bdcb4063e66f2cf3ce05d727a646237ea93"}, /* mla_o_proj/ring sm_90a */
    {"124d5f4d1e193150", "1e6347fcfe15e3279423ea35ff31cfcccd441cf3c65f42569004744046cb6e4a"}, /* mla_q_absorb/mma sm_90a */
    {"12d1a04c0f40a3f6", "c3429ca9d75093ec41650f9acf5ef6e3161ec45601df0e7288fa14cabb303f51"}, /* mla_q_b/mma sm_80 */
    {"152bef3a1df0c1d9", "9bf897a1a50e177442c59f1a8351ec873ca2c4d843faaf7b185efd633632d497"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"1693b638a52c50c1", "ee501e583f85c0a91ddc96be02dd7b67bd96895f46467ae48663c6ed643e4ba5"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"17933c3339f4c775", "129814ac9fdb7a0ce58804d0aae58ed5b40d281ad69d2afdd34a192da6c808eb"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"17bad060b4cafc04", "d59d76204ac084833216475c0fc939e1f012ce7d9a0206872aa836b9a9e4cd83"}, /* mla_q_b/stream_append sm_90a */
    {"18120d6e3c8b31e2", "78257682019ec7daae2dede925780eb8f6714c13d8a657e0073661a7fbc69573"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"193edb37cce5f843", "a12b30303d074e0458992c5e9a06ca2d2efb93e3e80f0020fb2484dd3253b599"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"1947b466bf6133d8", "c213cd1735148efd8c5775b26e85937cd4eabac5fd571608a51e4d5fa2310b11"},
      /* mla_decode/combine_mixed sm_90a */
    {"1a411de1af9f59e8", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"1bdc529c9c3ed776", "6c8d6fdda1eb2d799d6865a35ef76967334665c3889e24dae1e0483b11153e04"}, /* mla_o_proj/dot sm_90a */
    {"1bdeef7653f66f40", "893a8279769ee8ee0a9ce23d8c76e86faa8a2f8959bd245aceecbeaa9f820d5c"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"1c5116de79f792f4", "ed139002c6ab1a1d671fc8a3a9c3818798a512682f6416b77bf16149ffa11706"},
      /* mla_decode/combine_wave_invariant gfx942 */
    {"1c6f3fdfd0571626", "269d231920b671c39c1230cd8268e6e16cfe4096a14ae2b0f308fac797a3814c"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"1cdfdc1bb30c0376", "4bc3d4340fd114c6acc2d57a811d63af3d4463d73c4cc26d48042b288fc23d9f"}, /* mla_decode/mma sm_90a */
    {"1e34c3c53d53a799", "2a5b83a6db80b766c0d60cb5f8e7b70968de07e723b88f53e3554ff3e93149f2"}, /* mla_q_b/stream_fp8 sm_90a */
    {"1f58124c6ff7f7c2", "801481663ba30b173e0215ff582293efec4db0cd4730517e0ef8a7e5433bb4e8"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"1f7c88343551ecac", "8759e730929887d454b1c4d567713b129d391a32ef16fdde810e84a28b945123"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"1fb0c4c79d126e72", "e50173d02b7492e1e330566934c4ded0e60ec487d7614a25ed7ae95ab66fd10d"}, /* mla_q_absorb/dot gfx942 */
    {"20b96f79c58f6588", "acf11eb4c09bfd7f81c50717ee0fdab072813097286507b3d656f33db2e18361"}, /* mla_prefill/mma_fp8 sm_89 */
    {"214aa75e4e9a90e8", "8552d3b817a589a7ac50c872f7f419af9a7a7140b19378dbf97a8c309c4a4949"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"222d69e6ccc6b7bc", "9ad0ffd1a7e94f796fbc734509881ba98842f09cc56594f6a2161d963ad151b2"}, /* mla_decode/mfma_lds gfx942 */
    {"2323b7bdde0c2738", "f7b3c75ad2349334d7714c22c7704a7442d5a5614e648bc3cb61f5397f4a6e1a"}, /* mla_q_b/mma_fp8 sm_90a */
    {"233529f1fccec677", "d1e7ebab851653d027e5824e626d2562fdb982aab6988d7b060cc7df753fa8df"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"23455190dd08e62c", "e67e3cacd38f3349bc91ac80394a50df5018b1b8e8fd27ac9924778af36c2c91"}, /* mla_q_absorb/mfma gfx942 */
    {"23e0c08cae209cfb", "129814ac9fdb7a0ce58804d0aae58ed5b40d281ad69d2afdd34a192da6c808eb"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"24890a82b3314e99", "482330ae4693aa0822b8b4b07f6fec154e286d3982cb798b2853212aa37ff88a"}, /* mla_v_out/stream sm_90a */
    {"2615e6e1dfe6bb97", "51b309294b845aade4b4b40e2eb398215aea9d5e7fde8415d76d286c6cbdfb00"}, /* mla_o_proj/stream sm_90a */
    {"2636748d063f8cfb", "f7b3c75ad2349334d7714c22c7704a7442d5a5614e648bc3cb61f5397f4a6e1a"}, /* mla_q_b/mma_fp8 sm_90a */
    {"268ca0c6443a6453", "a46495f3664ee8a4fe55a2fefb86784e373629630e9df809b18d70c93cd998da"}, /* mla_dequant/rows sm_90a */
    {"26cd093462e3d891", "b623d1b7d4d2dba8f2fd5a88d7ca0d917260239b1587790d4a85bbf7d61f16e8"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"26ea11888539f4ab", "e860c5ca17ab8a6078267f7b5d0c35085e2ed8f3559f08303034741daa956361"}, /* mla_q_b/ring_append sm_90a */
    {"278a135ace614028", "8759e730929887d454b1c4d567713b129d391a32ef16fdde810e84a28b945123"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"27974a4ef116b9ca", "d1e7ebab851653d027e5824e626d2562fdb982aab6988d7b060cc7df753fa8df"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"28e277ca6b52ccac", "7f1249ffe200941236f260ae164c6b8a554e283e246569008f8cb0ed8552d237"},
      /* mla_decode/combine_values sm_90a */
    {"2a82f4ef0d1075e7", "e43f36a18f0f29f942833d97e29d195f7787d02c60e0a0b7a886546b60b1dc8c"}, /* mla_append/rows sm_80 */
    {"2b0f58654166561c", "9bc33e2a982098d6c1eb3046ad237521a28b05a524aec86aaa5ab4187ecf97c0"}, /* mla_o_proj/mma sm_80 */
    {"2b350b48e1af7fd0", "fffd175c5694285a15eac65b6b25ad3f5c6a92bbbd4c747dc9107a4d6a278cdf"}, /* mla_prefill/mma_fp8 sm_90a */
    {"2bce608d0db9ab74", "9a042f67cd07cee8cafcf9645469adf9ba43aa4d6da0e96907db5fe823dec7b9"}, /* mla_q_b/aside sm_90a */
    {"2cf57293ee7ac1fd", "e1b1a52cc34f2a482013c0c73ff5b30ebb7457e3d34decdef67f80e1724cc413"}, /* mla_q_b/dot_fp8 sm_90a */
    {"2d52e6432622dddd", "6d1cb71460be196ebca8ae5e7cdb3ef2011f8344f5a34e7434af6790f64930b8"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"2dded909b31163e2", "e860c5ca17ab8a6078267f7b5d0c35085e2ed8f3559f08303034741daa956361"}, /* mla_q_b/ring_append sm_90a */
    {"2e6c98e9ff457d22", "522dfe7ac6e5765c3124918ae9eb4e9b1197fac50696265d077e222c220ed232"}, /* mla_gather_kv_b/mma sm_80 */
    {"2e7857ffc5373272", "bf6063f8feb8e3a4f1d59f8d55915cdeef31cca3789b4fcb1cb381564bcaa585"}, /* mla_qkv_a/staged gfx942 */
    {"2f21c6efa0126721", "8759e730929887d454b1c4d567713b129d391a32ef16fdde810e84a28b945123"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"2f84a328bbb2af09", "e1b1a52cc34f2a482013c0c73ff5b30ebb7457e3d34decdef67f80e1724cc413"}, /* mla_q_b/dot_fp8 sm_90a */
    {"300005868dcf6199", "c33d04aa5fe734c3b625cb8a9c9a9c6adb738ff626eafb493f8308a9445604cb"}, /* mla_gather_kv_b/mfma gfx942 */
    {"30b789a2587e7aec", "e50173d02b7492e1e330566934c4ded0e60ec487d7614a25ed7ae95ab66fd10d"}, /* mla_q_absorb/dot gfx942 */
    {"30f00476bda7734f", "f9107de0a6e1c8c6e737c1c3b93c408d28666a199b996777cf8b0159e247acf1"}, /* mla_gather_kv_b/mma sm_90a */
    {"32025315f5d512e7", "482330ae4693aa0822b8b4b07f6fec154e286d3982cb798b2853212aa37ff88a"}, /* mla_v_out/stream sm_90a */
    {"326ca7b3f2cd22bd", "bba545d65befe4ca1ff602da09b0358424880b5bfa3a513d3286faecb520ea42"}, /* read_ceiling gfx942 */
    {"32bd5eb631409861", "5077a10c0502b2b328f316a467479490d2f97bde5c62089d20309e35ff21bd86"}, /* mla_q_absorb/mma sm_80 */
    {"3387aedfd1a3c546", "5077a10c0502b2b328f316a467479490d2f97bde5c62089d20309e35ff21bd86"}, /* mla_q_absorb/mma sm_80 */
    {"338899771c926bb5", "d36da41e7506ad8648300f8086173c3d3de5715a43b940b1fc28283fd0bb8536"}, /* mla_q_b/aside gfx942 */
    {"33ffc18b6f7ab1d9", "4c3f4a38d2d43d33009848dc1f822f21a9b20c7c7859b9e47cf43b5a6bd61357"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"3493f904afe3548f", "9fcbafc8a17e183adbb8aedcf5d4a515fe828cccbb08ee95fb3e8a797f7b5b93"}, /* mla_o_proj/staged gfx942 */
    {"34b9166ddf6590af", "4bc3d4340fd114c6acc2d57a811d63af3d4463d73c4cc26d48042b288fc23d9f"}, /* mla_decode/mma sm_90a */
    {"36995eb5935f7a10", "43647078c6e0ad33469e2dbadd37e930b206003d607e29b41d8e1da653c44c35"}, /* mla_v_out/dot_fp8 sm_90a */
    {"38787690d9481f76", "cf30f271fdd0687d812bb11312cc6a26d9cfcb006cd721639d7a16f74c647e6c"}, /* mla_v_out/mma sm_90a */
    {"388cc637fa03bc11", "9a042f67cd07cee8cafcf9645469adf9ba43aa4d6da0e96907db5fe823dec7b9"}, /* mla_q_b/aside sm_90a */
    {"3a020fc567fbd0ac", "1e1790e7e666b4230cdda321c34503683e7e80c93427265f8b940264a0cc5b07"}, /* mla_decode/mma_rotate sm_80 */
    {"3b44287253edb0dc", "6515a855e45d0fa7e6337780507e9af1e4ec49f7ff96bc41ed2ec6948bb2ff09"}, /* mla_v_out/mma sm_80 */
    {"3bb00d178e62def6", "44190bdc13d5ea12892707d7d80ed70f43a94c447276512505a2130fa4d7128c"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"3d37efd7886df631", "c64160f818f20bc30cb9ab0a71c3a0617a1ddd03a82e476794d60897c8a5802d"}, /* mla_gather_kv_b/aside sm_90a */
    {"3d7c41da3c2c689e", "e77f72e13a98b811179d6c2894fb909abac874f904781179819a811ab8aa8419"}, /* mla_gather_kv_b/mfma gfx950 */
    {"3ec5e4aad7e2cf21", "0fa9c84ce3ce982bbbd268f2f9a33e40bc50d0fcbb13e83498a42ffbdd3468c0"}, /* mla_q_absorb/stream sm_90a */
    {"3ef2f7a9b79c66af", "70aa0ae24d02577515cff105556f6ed2622cdf0912c5e5e1c035cc7179a374f4"}, /* mla_v_out/ring_fp8 sm_90a */
    {"3fe8e49baa613223", "a631d2d0c021b5f6ba200d24cf9c3366efbe905af601e020b4e754b33f89ce6b"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"410726ea7b6bfd7a", "6b7adc45386f02d247ac31199171dc3805976e17167ab0de5f649880b04c06c4"}, /* mla_qkv_a/stream sm_90a */
    {"41c8cb744f3ffa8a", "27f3884e467b2d812f9a309fdefa5c777c1eacdc0449ffa471426b1990b538d1"}, /* mla_qkv_a/mma sm_90a */
    {"421af555c8555a0b", "f5c652573bc7daee560ee0fd96efdedac8d812db6a122aff9a800d9fc886c528"}, /* mla_decode/mfma_reg gfx950 */
    {"42b5d3895244ce0f", "2ba1759a118aa753e14ac19a65d320537f5f7bf56f5e85a2be2fa5d8ca05eb48"}, /* mla_qkv_a/dot gfx942 */
    {"42cf2b70e0b8ec99", "13386f34948aab94218e9bd2ed6291c554e938900406be5cfa866600bfee6f25"},
      /* mla_decode/mfma_reg_cache gfx950 */
    {"4304322d37e36a40", "c64160f818f20bc30cb9ab0a71c3a0617a1ddd03a82e476794d60897c8a5802d"}, /* mla_gather_kv_b/aside sm_90a */
    {"431c6b315b71458b", "520e8f7eabcb996c2c0af84e471171aa3070cf3338493671476757619e90b06b"}, /* mla_decode/sm90_few sm_90a */
    {"434b918acd7cc0bb", "fc01a79c54ac561b760697f7dbb9ce0998e1ae63e47eb513bdd144abe33b5f1d"}, /* mla_v_out/dot gfx942 */
    {"43ab539cf042cf4b", "813b0cebe61e2bb80c196e83d1770c77e2a8aea8a8887f98e6c5c2caa3e61b05"}, /* mla_q_b/dot gfx942 */
    {"4423dd8ed7e95c52", "0fa9c84ce3ce982bbbd268f2f9a33e40bc50d0fcbb13e83498a42ffbdd3468c0"}, /* mla_q_absorb/stream sm_90a */
    {"44c4a1901777f43b", "b623d1b7d4d2dba8f2fd5a88d7ca0d917260239b1587790d4a85bbf7d61f16e8"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"44f1a5ffa0dceb8b", "6c871082ff78fd396b913b79b0a925226576ce7ac5a43dea3ae711679000f809"}, /* mla_o_proj/mma sm_90a */
    {"4525759faa026781", "e8342ddea5e060ee67fd791ce2a5cbe4b49532557d7602061a3141d4ec798617"}, /* mla_q_absorb/aside sm_90a */
    {"466ee13d25cced4e", "7ee210ddf56e4a56a1f8c44d80626401d76efe2a5c276e604fce86a7f04ed646"}, /* mla_append/rows gfx942 */
    {"46738ec6ead489fa", "37ed2c5e94c1de813a472d7fa67e62137bf53b4cb2f95e2f54c6ad0f47c6866f"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4688f8af6acfb47a", "a631d2d0c021b5f6ba200d24cf9c3366efbe905af601e020b4e754b33f89ce6b"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"483ba79cb9824930", "85de3ce2ab0837b56a2817653ae98d99bb0f7736728ec1f3adf79ca5d8c08439"}, /* mla_qkv_a/mma sm_80 */
    {"488a2cf5ee6054e1", "522dfe7ac6e5765c3124918ae9eb4e9b1197fac50696265d077e222c220ed232"}, /* mla_gather_kv_b/mma sm_80 */
    {"4a209c1c1cc4633d", "5c1eb1b99be6f578eb93c87dc69e19c6bb668833fe41fe585a2f7328a0b50197"}, /* mla_q_scale/rows gfx942 */
    {"4a24dc6c5db91e61", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"4ab451e74881bb36", "27532d1506ead32b32851849904a93fc557bd55ac8c018a664a65370b9c1d7c6"}, /* mla_q_scale/rows sm_80 */
    {"4bac024c7d78cb0e", "5d6768ad1168ae1c2e7f456e33638adc8b66a76a2586e7523b7213af24f18ad6"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"4bc779bbfb4a8adb", "78257682019ec7daae2dede925780eb8f6714c13d8a657e0073661a7fbc69573"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"4c449798b7f064e8", "03e1df44ca5f101fd7010095866e14ed49e5fa5ad307d8c57732e3699af48518"}, /* mla_prefill/sm90 sm_90a */
    {"4db92c53c47c33a2", "03e1df44ca5f101fd7010095866e14ed49e5fa5ad307d8c57732e3699af48518"}, /* mla_prefill/sm90 sm_90a */
    {"4f1693de56b369af", "42a0b483eb23773b6ed2600017ead19306c7d003be2a2a85978413998e771d27"},
      /* mla_prefill/mma_invariant sm_90a */
    {"4f45ed073002d229", "6c871082ff78fd396b913b79b0a925226576ce7ac5a43dea3ae711679000f809"}, /* mla_o_proj/mma sm_90a */
    {"4fae61dbb67cf1e7", "37ed2c5e94c1de813a472d7fa67e62137bf53b4cb2f95e2f54c6ad0f47c6866f"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4fb918a81b255c2a", "3ad141a761f9457102d70f436b8468c08354df7c47c32bb75525848f1943d7fd"}, /* mla_q_b/wide_fp8 sm_90a */
    {"508f8bd39d0aa3d2", "0fa9c84ce3ce982bbbd268f2f9a33e40bc50d0fcbb13e83498a42ffbdd3468c0"}, /* mla_q_absorb/stream sm_90a */
    {"50b8dd8522e4f88d", "c33d04aa5fe734c3b625cb8a9c9a9c6adb738ff626eafb493f8308a9445604cb"}, /* mla_gather_kv_b/mfma gfx942 */
    {"50d31c6fd9baa7ea", "b959897e221ae47268d0740bee89885c53e3ace5ae649527349cb749693b12a2"}, /* mla_qkv_a/ring sm_90a */
    {"518e4471bff1f45a", "956f66708f73d8063cc2282eba1924e6b36d65b7b323ce682a0bed47d1f83aab"}, /* mla_v_out/dot sm_90a */
    {"51e8e260ed48722d", "1e6347fcfe15e3279423ea35ff31cfcccd441cf3c65f42569004744046cb6e4a"}, /* mla_q_absorb/mma sm_90a */
    {"534cc794f84b0c00", "61f9b36d949ba918ecf00cb2424a3e93ed10db3ab5cc65be72dd8b65b7c564f9"}, /* mla_qkv_a/dot sm_90a */
    {"54cf6fc9950e09fa", "520e8f7eabcb996c2c0af84e471171aa3070cf3338493671476757619e90b06b"}, /* mla_decode/sm90_few sm_90a */
    {"5515d5f8c3557370", "0f1bd9e6ead45894a2ee24f95d5e41726a60211721238f67eba29639ccac783f"}, /* block_tables sm_90a */
    {"55956f100523f84d", "fffd175c5694285a15eac65b6b25ad3f5c6a92bbbd4c747dc9107a4d6a278cdf"}, /* mla_prefill/mma_fp8 sm_90a */
    {"55a071889cb1c73a", "b5fd81e5c61fc2356589de68c85fe51b66230fa778d209d834823b842f2d799c"}, /* mla_gather_kv_b/mfma gfx90a */
    {"563edcd2a92fad24", "27532d1506ead32b32851849904a93fc557bd55ac8c018a664a65370b9c1d7c6"}, /* mla_q_scale/rows sm_80 */
    {"576551df5696a9a0", "42a0b483eb23773b6ed2600017ead19306c7d003be2a2a85978413998e771d27"},
      /* mla_prefill/mma_invariant sm_90a */
    {"581584064a354fa9", "66883fa318d31d9696fcad6ba2fce38d09f0e2ac4a9d106d9be6e42e2d8bcca7"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"581df0bdcae64434", "fcea572119263be4be7ea5dc9b95d58be7df9fecad7cb415e9c5d01cb0beaf38"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"58f564a4e5a11442", "5def24a3c47d54194328415744082065e5823a1cefd35885959948741b878c08"}, /* index_lists gfx942 */
    {"590fe990ff3b7a96", "4bb7fccf59902f62ff32a6e485885081eb7ec13c5fcb19f8bceef6f80ac05f34"},
      /* mla_decode/combine_early sm_90a */
    {"592e7e7e616645ae", "5c050fc21e631fbbc8e61e4ee1f83bff9880638cedd8093ac554034e83203d19"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"5b7ee567c192eac4", "767e47e6defdca913061c11c237e3524fbe07bdca0fcd781c228bfc4d9dad7de"}, /* mla_q_absorb/dot sm_90a */
    {"5ba2ff28ac49f298", "b623d1b7d4d2dba8f2fd5a88d7ca0d917260239b1587790d4a85bbf7d61f16e8"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"5c26c10f373a9eee", "44190bdc13d5ea12892707d7d80ed70f43a94c447276512505a2130fa4d7128c"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"5c67315b5bdbda22", "6c871082ff78fd396b913b79b0a925226576ce7ac5a43dea3ae711679000f809"}, /* mla_o_proj/mma sm_90a */
    {"5c67ebc31b400ae3", "e4e12da852d7ea578dc5dab242cf104da80934492407a6c192623f2511ac33f8"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"5d8b3cf12369dfa8", "f933f37e4cff485c41f5e1e1040cfa7abcb2c9bd7512cf10faa737f70b6d02bf"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"5e19f39942f6610d", "c213cd1735148efd8c5775b26e85937cd4eabac5fd571608a51e4d5fa2310b11"},
      /* mla_decode/combine_mixed sm_90a */
    {"5e40988626e209a2", "bbe7a78957724633aec1b707571b2dff9a64596792de077792418b2997d586c5"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"5e4983454b2827ad", "364f60fc9dd2cdae20fc83d4cf976bdcb4063e66f2cf3ce05d727a646237ea93"}, /* mla_o_proj/ring sm_90a */
    {"5e95e61caa638de5", "680609c94a002177dbb07cd79173c950f6c9691cec04c7b37feffc64087a7df3"}, /* mla_v_out/staged gfx942 */
    {"5f0eb31d047002c1", "2df31fdc39dc157eb1ee623347beb45ad8f422e5ae2653dad39ea91c99188cd6"}, /* mla_o_proj/mfma gfx942 */
    {"5f1850883b5ef888", "b21a1c9a29656c29c1883f84301caa3c8dde0cee017e08c3248576fa011c9a65"}, /* mla_decode/sm90_many sm_90a */
    {"5f3b22d46f04def1", "4bb7fccf59902f62ff32a6e485885081eb7ec13c5fcb19f8bceef6f80ac05f34"},
      /* mla_decode/combine_early sm_90a */
    {"5f7af28d3e946da5", "8552d3b817a589a7ac50c872f7f419af9a7a7140b19378dbf97a8c309c4a4949"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"6042bacaa4c8805c", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"6069060a619de1ab", "f4debf9de656d0f6e0df6588883b881d29682abce58e4505cf5471fd93d15c07"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"62570dbb844b4268", "2df31fdc39dc157eb1ee623347beb45ad8f422e5ae2653dad39ea91c99188cd6"}, /* mla_o_proj/mfma gfx942 */
    {"63b5593d9c7a3257", "bf6063f8feb8e3a4f1d59f8d55915cdeef31cca3789b4fcb1cb381564bcaa585"}, /* mla_qkv_a/staged gfx942 */
    {"6418dfb639448431", "7c383c69b2de8ddc1bf0e72ecca330a121d06e4a1fc96a51fe8afc5a8ffc2d9d"}, /* soak_compare sm_90a */
    {"64cd326f56dbcc1c", "f9107de0a6e1c8c6e737c1c3b93c408d28666a199b996777cf8b0159e247acf1"}, /* mla_gather_kv_b/mma sm_90a */
    {"655757e2b180b1a5", "d1cfc1e4166bbb03966b757b992803689a0fa329074dcd823a5c717a6aa4155d"}, /* mla_dequant/rows sm_80 */
    {"655ac98afb10a17f", "f4debf9de656d0f6e0df6588883b881d29682abce58e4505cf5471fd93d15c07"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"66f8be4ab33c7cc8", "1e36ed0afa8fe3e2b6008e4cea487f435108b6f039956e708b12bdc8a721e502"}, /* mla_q_scale/rows sm_90a */
    {"6730cfb350652cdb", "fcea572119263be4be7ea5dc9b95d58be7df9fecad7cb415e9c5d01cb0beaf38"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"6742b2dcb3f0718c", "fc01a79c54ac561b760697f7dbb9ce0998e1ae63e47eb513bdd144abe33b5f1d"}, /* mla_v_out/dot gfx942 */
    {"685e272e784605b7", "2df31fdc39dc157eb1ee623347beb45ad8f422e5ae2653dad39ea91c99188cd6"}, /* mla_o_proj/mfma gfx942 */
    {"68659cd5dad97396", "06b879cd31c4cde3a7af34f69ab316cdbeb6fa95e3ab5bd2abded59a7c2c23c0"}, /* mla_append/rows sm_90a */
    {"687b6f54fd547a97", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"687e6901ed9ea13e", "a2af323dd468df60df246c4a4ea307e5c1cef51d11d600882856ce838b6ceb6b"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"6882f65f16c455c8", "61ff20c5f0e8af2d5d663edbc9b4449eedcd58a63070c6f5e8d2031a1e08b85f"}, /* mla_q_absorb/ring sm_90a */
    {"688c6d3e16b33fcc", "6f3257eb4b328ea49e5cd6fd03b3c60353646fc8f6b5e09422845a5ff9144b62"}, /* index_lists sm_90a */
    {"6bff2e1d438aacd3", "e77f72e13a98b811179d6c2894fb909abac874f904781179819a811ab8aa8419"}, /* mla_gather_kv_b/mfma gfx950 */
    {"6c167320aaabe81d", "5c050fc21e631fbbc8e61e4ee1f83bff9880638cedd8093ac554034e83203d19"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"6ca08f10d7bee181", "9ad0ffd1a7e94f796fbc734509881ba98842f09cc56594f6a2161d963ad151b2"}, /* mla_decode/mfma_lds gfx942 */
    {"6da1b95e0f465270", "1e1790e7e666b4230cdda321c34503683e7e80c93427265f8b940264a0cc5b07"}, /* mla_decode/mma_rotate sm_80 */
    {"6dd9f8c6cebc185b", "61ff20c5f0e8af2d5d663edbc9b4449eedcd58a63070c6f5e8d2031a1e08b85f"}, /* mla_q_absorb/ring sm_90a */
    {"6e19b1ae22409607", "54ca597a535835657ea717a393792b3ba905582fd9e11d3599f8743ec41adb13"}, /* mla_merge/rows sm_80 */
    {"6f4e417030598a53", "0d8c0ea030e4951ca8a61fc9c29729e392d11e2cef7a519f36e55e84a3a68961"}, /* mla_q_absorb/aside gfx942 */
    {"7024c3338026f869", "d25d9c7df18f490f99b6e7692cec9be6b85d4eca0102e5479f4043b902ffe9eb"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"709ec78999875393", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"71657ad6b467a1c5", "32f616377edecaa3c25d1639e0f7fa7d1e6e61ce9ed3f4521335ed392d4d1a09"}, /* mla_decode/mfma_reg gfx942 */
    {"7188ec6e7235fcb3", "6d7bda318c28d4db4007fd1b230a8c27ed616c124cc0f3bf8018de067d296c0b"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"71f0c2dd25be2bde", "6316dbad348b8575cbcc1292554f4e200801d9a878342397a75267b5b3df1a15"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"722c77ac8f16d49d", "acf11eb4c09bfd7f81c50717ee0fdab072813097286507b3d656f33db2e18361"}, /* mla_prefill/mma_fp8 sm_89 */
    {"72aa5759fbe5577a", "5f361586a8f8f0ebe0f375c17b873180904778d3f364c8abba7eba5381dd1378"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"74004649bb7f497d", "110f024ba5cba47e05251fac504a843d418d60e93976c82b7f9ed75f0a148c49"}, /* mla_q_b/staged gfx942 */
    {"7461a09813e9dafd", "51b309294b845aade4b4b40e2eb398215aea9d5e7fde8415d76d286c6cbdfb00"}, /* mla_o_proj/stream sm_90a */
    {"74a591e6d0f2b7a4", "da2b9845f17c22092cece443cf28dc6cb805e6228a6226093d5b42f3982605f0"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"7513a6f9f64e93f4", "ae7df522d7b0d1824bc03a51c2d0cf139a55ee8435ea65df075f7e2859b433b7"}, /* mla_merge/rows gfx942 */
    {"759fac03110f15e7", "43647078c6e0ad33469e2dbadd37e930b206003d607e29b41d8e1da653c44c35"}, /* mla_v_out/dot_fp8 sm_90a */
    {"76a092d6a65012e0", "26f078ba08100f05e7dad0ca7e922f657141be7128939017d3bf3ae37a034e28"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"77c36535c51c4fcf", "620618886468453bd4c21e40b38c777297005ca3e7dcac29fd919a85d38197c6"}, /* mla_decode/combine_warp sm_90a */
    {"7837067a3e3ffcb9", "713de32a5f66e05ccab64a5f4b749c15c7ceae0ed2aaf22d85dcb0e9b3cd7fe7"}, /* mla_q_absorb/walk sm_90a */
    {"79e407498db95a54", "6c8d6fdda1eb2d799d6865a35ef76967334665c3889e24dae1e0483b11153e04"}, /* mla_o_proj/dot sm_90a */
    {"7abb1346e45e41d8", "4d8e488c2851dd96d5c6e474acdd41c95e55f6236aa240ec6f63ecf0fa65f672"}, /* mla_q_b/mfma_append gfx942 */
    {"7d250586eb84213f", "d1e7ebab851653d027e5824e626d2562fdb982aab6988d7b060cc7df753fa8df"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"7dc3cf284f9a6888", "221f20d2b6ef96e98515d5f20ab9b981dfa0fe772d43f45a476efe90fafc18d4"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"7ddaa198d43c209e", "801481663ba30b173e0215ff582293efec4db0cd4730517e0ef8a7e5433bb4e8"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"7e3bc0453f8781a3", "61f9b36d949ba918ecf00cb2424a3e93ed10db3ab5cc65be72dd8b65b7c564f9"}, /* mla_qkv_a/dot sm_90a */
    {"7e7d077b9982e025", "51d6be2f8297b0fd725aae75d0f0ad9a3fe19755cf0c89226aa77deb4c79bc08"}, /* mla_v_out/mfma gfx942 */
    {"7f655c8c9a1463fa", "e6507ff3310c7382d5619a60938a74774896052f10a59098202f8584e9f0b42a"}, /* mla_o_proj/dot gfx942 */
    {"806092043f43ce9f", "85de3ce2ab0837b56a2817653ae98d99bb0f7736728ec1f3adf79ca5d8c08439"}, /* mla_qkv_a/mma sm_80 */
    {"80ded403cd42ce9c", "d1cfc1e4166bbb03966b757b992803689a0fa329074dcd823a5c717a6aa4155d"}, /* mla_dequant/rows sm_80 */
    {"82539b42edf2a9af", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"825481246183f227", "54ca597a535835657ea717a393792b3ba905582fd9e11d3599f8743ec41adb13"}, /* mla_merge/rows sm_80 */
    {"82dd5951ef3c629c", "f26f4404830ba1ee4086b128a0e353cb69705c0ca980db64a140b5a0f42ae70d"}, /* mla_gather_kv_b/aside gfx942 */
    {"8364a77e80c5df52", "9bc33e2a982098d6c1eb3046ad237521a28b05a524aec86aaa5ab4187ecf97c0"}, /* mla_o_proj/mma sm_80 */
    {"84235f5896c5e5c3", "61ff20c5f0e8af2d5d663edbc9b4449eedcd58a63070c6f5e8d2031a1e08b85f"}, /* mla_q_absorb/ring sm_90a */
    {"844bfa840f85bead", "713de32a5f66e05ccab64a5f4b749c15c7ceae0ed2aaf22d85dcb0e9b3cd7fe7"}, /* mla_q_absorb/walk sm_90a */
    {"847a2dfb88035c90", "70aa0ae24d02577515cff105556f6ed2622cdf0912c5e5e1c035cc7179a374f4"}, /* mla_v_out/ring_fp8 sm_90a */
    {"8495a7babd87320e", "1e36ed0afa8fe3e2b6008e4cea487f435108b6f039956e708b12bdc8a721e502"}, /* mla_q_scale/rows sm_90a */
    {"857092da1807398b", "ee501e583f85c0a91ddc96be02dd7b67bd96895f46467ae48663c6ed643e4ba5"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"864003d918f04380", "4bb7fccf59902f62ff32a6e485885081eb7ec13c5fcb19f8bceef6f80ac05f34"},
      /* mla_decode/combine_early sm_90a */
    {"8671a60a46e2cd86", "482330ae4693aa0822b8b4b07f6fec154e286d3982cb798b2853212aa37ff88a"}, /* mla_v_out/stream sm_90a */
    {"879d993ab977912a", "ce3e40f3d1fa2a5114173d820e934ff59fdda14bdc65d2e3218d3628f0fbfa7c"}, /* mla_q_b/dot sm_90a */
    {"8846c78f7635a4bb", "8bee3090fba04d6633930ab3f1d2bcafe9e17c2e256387f936ab57849652c21c"}, /* soak_compare gfx942 */
    {"88d156531b26ea63", "0f1bd9e6ead45894a2ee24f95d5e41726a60211721238f67eba29639ccac783f"}, /* block_tables sm_90a */
    {"88e8ddc0bf1df79d", "85de3ce2ab0837b56a2817653ae98d99bb0f7736728ec1f3adf79ca5d8c08439"}, /* mla_qkv_a/mma sm_80 */
    {"895b48f66f759693", "938a154e58268e3d96cb83429aafcd1379752d5005867c5d724802d71a854ba4"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"89f1d7763379bf53", "b819c3fc55c5cb6626113788485aa9f883c472aab065723ac57311f212fdccc0"}, /* mla_q_absorb/stay gfx942 */
    {"8a78d0e06f1b8c65", "489f7d272b0d73129a3a056dbd05407c0034c0cbd501fd8c29a22adf7486e050"}, /* mla_decode/sm90_mid sm_90a */
    {"8b5fa8ce92aa9d56", "1c7b512e799f360def11860ea7db97c9e07ca03ab5a0d7bfce2be702af20cfb9"}, /* mla_decode/mfma_reg gfx90a */
    {"8c2105be27cdb9a6", "437c5d08dc60bf9e2f8fc7b396d33e34e5e2cba27c76f937a1dff8ac2759d9cd"}, /* mla_v_out/stream_fp8 sm_90a */
    {"8cd0683652dadd62", "bc81d517dfdb4e7ac2461aead79bac9423ab728ce80df4b07478442e16fd53dc"}, /* mla_q_b/mma_append sm_90a */
    {"8e05af6fe2f87d09", "e67e3cacd38f3349bc91ac80394a50df5018b1b8e8fd27ac9924778af36c2c91"}, /* mla_q_absorb/mfma gfx942 */
    {"8e2314abb7374c98", "ed139002c6ab1a1d671fc8a3a9c3818798a512682f6416b77bf16149ffa11706"},
      /* mla_decode/combine_wave_invariant gfx942 */
    {"8f214c918c590adf", "9fcbafc8a17e183adbb8aedcf5d4a515fe828cccbb08ee95fb3e8a797f7b5b93"}, /* mla_o_proj/staged gfx942 */
    {"8f296e5cb8fd93bb", "fc01a79c54ac561b760697f7dbb9ce0998e1ae63e47eb513bdd144abe33b5f1d"}, /* mla_v_out/dot gfx942 */
    {"91a1c4d10938b106", "938a154e58268e3d96cb83429aafcd1379752d5005867c5d724802d71a854ba4"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"92bb31b52fe2edde", "fcea572119263be4be7ea5dc9b95d58be7df9fecad7cb415e9c5d01cb0beaf38"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"9348ee8eeb359d59", "0241ba101a483a8e309ba76614b87bf9fd5385a1cba7225aed88e45098af2d69"},
      /* mla_decode/mfma_reg_cache gfx90a */
    {"938e8f915ab05853", "7ee210ddf56e4a56a1f8c44d80626401d76efe2a5c276e604fce86a7f04ed646"}, /* mla_append/rows gfx942 */
    {"94301f3392537983", "8bee3090fba04d6633930ab3f1d2bcafe9e17c2e256387f936ab57849652c21c"}, /* soak_compare gfx942 */
    {"9555662c1c7885cc", "e89c78989b20c2938bb155d89dbe85fab0b0162b2064ae523dfbf58baca98f7c"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"9661fc2d10fd646a", "680609c94a002177dbb07cd79173c950f6c9691cec04c7b37feffc64087a7df3"}, /* mla_v_out/staged gfx942 */
    {"969f6735b316bbd1", "b21a1c9a29656c29c1883f84301caa3c8dde0cee017e08c3248576fa011c9a65"}, /* mla_decode/sm90_many sm_90a */
    {"96ba63f2a9db33e7", "ce9a8c634a206a9a711a8475fe0cc8d321cb7f7ebfd0782071c72c8b1d4ba11a"}, /* mla_q_b/mma sm_90a */
    {"971540eebfbfb880", "f09f115713353e05f6155f11054e3a42752d593d0eef0d72393c3d724da8d691"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"97c2f91e375d8cbf", "e4e12da852d7ea578dc5dab242cf104da80934492407a6c192623f2511ac33f8"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"986fba81527209b3", "61f9b36d949ba918ecf00cb2424a3e93ed10db3ab5cc65be72dd8b65b7c564f9"}, /* mla_qkv_a/dot sm_90a */
    {"999444b93b421443", "65f9041ac34a3ab7e36b1ea8cb31a02863588464c0f831e4bb5e59609d317eb0"}, /* mla_decode/combine_wave gfx942 */
    {"9a90d2d50d96031c", "520e8f7eabcb996c2c0af84e471171aa3070cf3338493671476757619e90b06b"}, /* mla_decode/sm90_few sm_90a */
    {"9aa985e2e3c47340", "767e47e6defdca913061c11c237e3524fbe07bdca0fcd781c228bfc4d9dad7de"}, /* mla_q_absorb/dot sm_90a */
    {"9b012a35a13f46d5", "977460e087ca0396236024173536a7374a1760ceecbed2e5bfa4180be6dee553"}, /* mla_q_b/ring sm_90a */
    {"9bfd03980d8e9678", "a46495f3664ee8a4fe55a2fefb86784e373629630e9df809b18d70c93cd998da"}, /* mla_dequant/rows sm_90a */
    {"9c62a231ee56e2cd", "da2b9845f17c22092cece443cf28dc6cb805e6228a6226093d5b42f3982605f0"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"9c9c76eab82d91e4", "1c7b512e799f360def11860ea7db97c9e07ca03ab5a0d7bfce2be702af20cfb9"}, /* mla_decode/mfma_reg gfx90a */
    {"9e417b363cb1d8ec", "ab800a2dbd6d0e50595811e181e1f3f6162c479c72cdeb3cdf6d2d547b34e3e4"}, /* mla_v_out/mma_fp8 sm_80 */
    {"9f3871459b971efa", "51d6be2f8297b0fd725aae75d0f0ad9a3fe19755cf0c89226aa77deb4c79bc08"}, /* mla_v_out/mfma gfx942 */
    {"a09e9a876811bebb", "620618886468453bd4c21e40b38c777297005ca3e7dcac29fd919a85d38197c6"}, /* mla_decode/combine_warp sm_90a */
    {"a0e1eca774e2167b", "70aa0ae24d02577515cff105556f6ed2622cdf0912c5e5e1c035cc7179a374f4"}, /* mla_v_out/ring_fp8 sm_90a */
    {"a15594bed108b313", "43f367afc69ac9ec371b8830a1a93988f30fa301ae86acfd6ca9c61b9fbc0c8f"}, /* mla_q_b/staged_append gfx942 */
    {"a1a6bd9620492fab", "6d1cb71460be196ebca8ae5e7cdb3ef2011f8344f5a34e7434af6790f64930b8"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"a21ff199eaf72f0c", "e67e3cacd38f3349bc91ac80394a50df5018b1b8e8fd27ac9924778af36c2c91"}, /* mla_q_absorb/mfma gfx942 */
    {"a2492383084e932b", "ce9a8c634a206a9a711a8475fe0cc8d321cb7f7ebfd0782071c72c8b1d4ba11a"}, /* mla_q_b/mma sm_90a */
    {"a3b6b7c69613e157", "390a2d7fd2031c09c17168d247adc52a0ac65913e9a40ab27a7d4abe995af329"}, /* mla_q_b/dot_append sm_90a */
    {"a48fd4f4b9163077", "4c3f4a38d2d43d33009848dc1f822f21a9b20c7c7859b9e47cf43b5a6bd61357"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"a529308f0bc4374f", "9c2dc138e91b2992d24a3a7b0835e5764d76cc9a0ce56c8f69e2fef9b58a5d07"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"a6e84acfad96c50f", "51d6be2f8297b0fd725aae75d0f0ad9a3fe19755cf0c89226aa77deb4c79bc08"}, /* mla_v_out/mfma gfx942 */
    {"a71daace801b5798", "bfd1ec9e79aa16e00fe68a7790900554350488fae03a6c5e348bfb623d972f4a"}, /* mla_merge/rows sm_90a */
    {"a7d79925e193690f", "489f7d272b0d73129a3a056dbd05407c0034c0cbd501fd8c29a22adf7486e050"}, /* mla_decode/sm90_mid sm_90a */
    {"a8f8cf4e76253180", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"ab77397d475e608e", "cae65cbf6159cc54b4dbc14377105df3ad24cc91c5ebd806cff788a57cca52fc"}, /* read_ceiling sm_90a */
    {"ab99030509adb5e2", "d63e11282cd1c7f3a8d0a21d814204a66aadf0f5ef27ece473907ab35701249e"}, /* mla_decode/mma_cache sm_90a */
    {"abfc776a26e53a9d", "df4d6a75d60dd547b8b283660171ec8fa8f493c0845910a791f0a07b02fce686"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"ac3e2cf0ec4365ca", "63001e2b95e24db3ee279be63d0a12c80ec39c3046e9153b33f0533d4213373a"}, /* mla_q_b/mfma gfx942 */
    {"ac8b8966e293a69a", "27f3884e467b2d812f9a309fdefa5c777c1eacdc0449ffa471426b1990b538d1"}, /* mla_qkv_a/mma sm_90a */
    {"acfc4fd4694233f5", "44190bdc13d5ea12892707d7d80ed70f43a94c447276512505a2130fa4d7128c"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"ad19f746805fba93", "489f7d272b0d73129a3a056dbd05407c0034c0cbd501fd8c29a22adf7486e050"}, /* mla_decode/sm90_mid sm_90a */
    {"ad48640e3ac022a5", "5f361586a8f8f0ebe0f375c17b873180904778d3f364c8abba7eba5381dd1378"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"ad6b4d2ac89d19c9", "ae7df522d7b0d1824bc03a51c2d0cf139a55ee8435ea65df075f7e2859b433b7"}, /* mla_merge/rows gfx942 */
    {"adc5214e0e039a3a", "43f367afc69ac9ec371b8830a1a93988f30fa301ae86acfd6ca9c61b9fbc0c8f"}, /* mla_q_b/staged_append gfx942 */
    {"ae1330de6946a643", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"aeb310e19c702567", "8552d3b817a589a7ac50c872f7f419af9a7a7140b19378dbf97a8c309c4a4949"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"afdd8eadfc3a69bd", "5077a10c0502b2b328f316a467479490d2f97bde5c62089d20309e35ff21bd86"}, /* mla_q_absorb/mma sm_80 */
    {"b149beb2f4017ff4", "767e47e6defdca913061c11c237e3524fbe07bdca0fcd781c228bfc4d9dad7de"}, /* mla_q_absorb/dot sm_90a */
    {"b1561958ac08dc13", "e6507ff3310c7382d5619a60938a74774896052f10a59098202f8584e9f0b42a"}, /* mla_o_proj/dot gfx942 */
    {"b1cf50520cde8c47", "c3429ca9d75093ec41650f9acf5ef6e3161ec45601df0e7288fa14cabb303f51"}, /* mla_q_b/mma sm_80 */
    {"b27f2d87d753cd94", "620618886468453bd4c21e40b38c777297005ca3e7dcac29fd919a85d38197c6"}, /* mla_decode/combine_warp sm_90a */
    {"b29f9821d8c0c7ec", "221f20d2b6ef96e98515d5f20ab9b981dfa0fe772d43f45a476efe90fafc18d4"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"b32a95f0f29397ce", "f26f4404830ba1ee4086b128a0e353cb69705c0ca980db64a140b5a0f42ae70d"}, /* mla_gather_kv_b/aside gfx942 */
    {"b426da8a0f9dbec5", "680609c94a002177dbb07cd79173c950f6c9691cec04c7b37feffc64087a7df3"}, /* mla_v_out/staged gfx942 */
    {"b6b36a556e20b0aa", "5d6768ad1168ae1c2e7f456e33638adc8b66a76a2586e7523b7213af24f18ad6"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"b700fe35bd7bcce3", "f43ee0ccc1d25447682b8a9403e482325b6b1179aae051816db0e3e08bae65cf"}, /* mla_dequant/rows gfx942 */
    {"b743e9468e2dfc4d", "9bf897a1a50e177442c59f1a8351ec873ca2c4d843faaf7b185efd633632d497"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"b7e02e8677038e0a", "a2e4c907187f96cfbfe455e4c1be3e2b1c280313a7a3838c209f706071cb45d6"}, /* mla_qkv_a/mfma gfx942 */
    {"b8a77b083f56e8da", "46c1e58da5f966ea1c1078d945851569fcb30afb1a6e1cb631399e9b25e99d7b"}, /* mla_decode/sm90_raw sm_90a */
    {"b8e1df8086884e7e", "ca3b8777e995ab00aadb5012a9b9828fe88b8489b199780edb2b8117be109b01"}, /* mla_v_out/ring sm_90a */
    {"b93851c31cfccd73", "f43ee0ccc1d25447682b8a9403e482325b6b1179aae051816db0e3e08bae65cf"}, /* mla_dequant/rows gfx942 */
    {"b9fd5ab84f14ca85", "6316dbad348b8575cbcc1292554f4e200801d9a878342397a75267b5b3df1a15"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"bca4455dd9513827", "f5c652573bc7daee560ee0fd96efdedac8d812db6a122aff9a800d9fc886c528"}, /* mla_decode/mfma_reg gfx950 */
    {"bdd6924ebb60a765", "437c5d08dc60bf9e2f8fc7b396d33e34e5e2cba27c76f937a1dff8ac2759d9cd"}, /* mla_v_out/stream_fp8 sm_90a */
    {"be8ffb9ae2e2a544", "2ba1759a118aa753e14ac19a65d320537f5f7bf56f5e85a2be2fa5d8ca05eb48"}, /* mla_qkv_a/dot gfx942 */
    {"beaa4ccc646b8464", "243cece82fadce15b851b87af7f9778d5b4edf7f37cabec4577655e855fdb30e"}, /* mla_decode/mma sm_80 */
    {"c08bc396b464ef4a", "6492fa35c586fcfbc687209df2dce2776964ef59b3ddd7f1c95c9d168b4ab9a1"}, /* mla_prefill/mfma_asm gfx942 */
    {"c09735b7730a2983", "bbe7a78957724633aec1b707571b2dff9a64596792de077792418b2997d586c5"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"c0f8b61afcd80638", "6d7bda318c28d4db4007fd1b230a8c27ed616c124cc0f3bf8018de067d296c0b"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"c2b085332487e473", "243cece82fadce15b851b87af7f9778d5b4edf7f37cabec4577655e855fdb30e"}, /* mla_decode/mma sm_80 */
    {"c36bcd1ea540ef06", "45f7fe1f529af379f55f3145a166dc27b70fb63ce751a2b1744c5513a63cd0e2"}, /* mla_v_out/wide_fp8 sm_90a */
    {"c397823d2ef1154f", "ca3b8777e995ab00aadb5012a9b9828fe88b8489b199780edb2b8117be109b01"}, /* mla_v_out/ring sm_90a */
    {"c42f0d135432acfb", "e43f36a18f0f29f942833d97e29d195f7787d02c60e0a0b7a886546b60b1dc8c"}, /* mla_append/rows sm_80 */
    {"c46d3c1bda881613", "6492fa35c586fcfbc687209df2dce2776964ef59b3ddd7f1c95c9d168b4ab9a1"}, /* mla_prefill/mfma_asm gfx942 */
    {"c4ada4dbac54709c", "bf6063f8feb8e3a4f1d59f8d55915cdeef31cca3789b4fcb1cb381564bcaa585"}, /* mla_qkv_a/staged gfx942 */
    {"c5f3d2cb92561ae1", "27f3884e467b2d812f9a309fdefa5c777c1eacdc0449ffa471426b1990b538d1"}, /* mla_qkv_a/mma sm_90a */
    {"c61cc9f453be4427", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"c6a29b6d9c3cee28", "66883fa318d31d9696fcad6ba2fce38d09f0e2ac4a9d106d9be6e42e2d8bcca7"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"c7e309359e95d7ab", "1e6347fcfe15e3279423ea35ff31cfcccd441cf3c65f42569004744046cb6e4a"}, /* mla_q_absorb/mma sm_90a */
    {"c9afeb7cfc83ef2c", "269d231920b671c39c1230cd8268e6e16cfe4096a14ae2b0f308fac797a3814c"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"cb0b99a921cf7ece", "5f361586a8f8f0ebe0f375c17b873180904778d3f364c8abba7eba5381dd1378"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"cb0c95e0efb16b7b", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"cbbfe15fc866d9d1", "cf30f271fdd0687d812bb11312cc6a26d9cfcb006cd721639d7a16f74c647e6c"}, /* mla_v_out/mma sm_90a */
    {"cc3ee5ae71a792ca", "a4ecfda163039c4e9326f09fa509932da6a9c5e30607dc09aa258a8aab667dc7"}, /* mla_q_b/stream sm_90a */
    {"cc79d5511430877c", "06b879cd31c4cde3a7af34f69ab316cdbeb6fa95e3ab5bd2abded59a7c2c23c0"}, /* mla_append/rows sm_90a */
    {"ccf5e35f481808cb", "9bc33e2a982098d6c1eb3046ad237521a28b05a524aec86aaa5ab4187ecf97c0"}, /* mla_o_proj/mma sm_80 */
    {"cd10c0438631488c", "26f078ba08100f05e7dad0ca7e922f657141be7128939017d3bf3ae37a034e28"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"cd902e5bbd581aae", "09c4aebb9006814a0d70c280fcfe65c707b3728a5ea3216a5c640bf17fd534f9"},
      /* mla_decode/mfma_reg_cache gfx942 */
    {"cdc0fe067299937a", "e63bf01e07025e26915e00349ef9a0a1dbd1ac134495892bd9edfdbed984c264"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"cdd5cbbf85eda0ca", "ca3b8777e995ab00aadb5012a9b9828fe88b8489b199780edb2b8117be109b01"}, /* mla_v_out/ring sm_90a */
    {"cde7285a424254f8", "956f66708f73d8063cc2282eba1924e6b36d65b7b323ce682a0bed47d1f83aab"}, /* mla_v_out/dot sm_90a */
    {"d13efa6abd3d3c6e", "32f616377edecaa3c25d1639e0f7fa7d1e6e61ce9ed3f4521335ed392d4d1a09"}, /* mla_decode/mfma_reg gfx942 */
    {"d232da02ec8d7a98", "6c8d6fdda1eb2d799d6865a35ef76967334665c3889e24dae1e0483b11153e04"}, /* mla_o_proj/dot sm_90a */
    {"d294d16ccf883909", "d59d76204ac084833216475c0fc939e1f012ce7d9a0206872aa836b9a9e4cd83"}, /* mla_q_b/stream_append sm_90a */
    {"d2c29f83f87fee98", "d25d9c7df18f490f99b6e7692cec9be6b85d4eca0102e5479f4043b902ffe9eb"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d3172dcda4937dbc", "9fcbafc8a17e183adbb8aedcf5d4a515fe828cccbb08ee95fb3e8a797f7b5b93"}, /* mla_o_proj/staged gfx942 */
    {"d4d98376ebb0e13a", "cf30f271fdd0687d812bb11312cc6a26d9cfcb006cd721639d7a16f74c647e6c"}, /* mla_v_out/mma sm_90a */
    {"d56630605a142e3b", "4d8e488c2851dd96d5c6e474acdd41c95e55f6236aa240ec6f63ecf0fa65f672"}, /* mla_q_b/mfma_append gfx942 */
    {"d8af74c2ed88d78a", "16fa6ea59c0bed1e26c99595221976b8708aae3b431bc9c00409ee1ae8c0c08d"}, /* block_tables gfx942 */
    {"d96a4ce34a3c862e", "a12b30303d074e0458992c5e9a06ca2d2efb93e3e80f0020fb2484dd3253b599"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"d9a9ddd947a4ad27", "e4e12da852d7ea578dc5dab242cf104da80934492407a6c192623f2511ac33f8"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"dc3ab992b8f52a9a", "c213cd1735148efd8c5775b26e85937cd4eabac5fd571608a51e4d5fa2310b11"},
      /* mla_decode/combine_mixed sm_90a */
    {"dce33628c7241248", "b5fd81e5c61fc2356589de68c85fe51b66230fa778d209d834823b842f2d799c"}, /* mla_gather_kv_b/mfma gfx90a */
    {"dda3569535b90f07", "813b0cebe61e2bb80c196e83d1770c77e2a8aea8a8887f98e6c5c2caa3e61b05"}, /* mla_q_b/dot gfx942 */
    {"df6fc2b84a4c703c", "364f60fc9dd2cdae20fc83d4cf976bdcb4063e66f2cf3ce05d727a646237ea93"}, /* mla_o_proj/ring sm_90a */
    {"dfe7bc2806db7bd2", "a4ecfda163039c4e9326f09fa509932da6a9c5e30607dc09aa258a8aab667dc7"}, /* mla_q_b/stream sm_90a */
    {"e094f62348d5ee98", "9c2dc138e91b2992d24a3a7b0835e5764d76cc9a0ce56c8f69e2fef9b58a5d07"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"e09dc0433f2995d9", "938a154e58268e3d96cb83429aafcd1379752d5005867c5d724802d71a854ba4"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"e129f9f27d91f9cf", "93c60847d39f192326b4a89de1858c086b650fd6b8077f3eb1cf5b8cb7521ca8"}, /* concat_keys sm_90a */
    {"e1f35845e0591d1b", "269d231920b671c39c1230cd8268e6e16cfe4096a14ae2b0f308fac797a3814c"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"e29b48d2a496dded", "da2b9845f17c22092cece443cf28dc6cb805e6228a6226093d5b42f3982605f0"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"e36c0b142ce0220a", "977460e087ca0396236024173536a7374a1760ceecbed2e5bfa4180be6dee553"}, /* mla_q_b/ring sm_90a */
    {"e4007f8e6fcc75bb", "66883fa318d31d9696fcad6ba2fce38d09f0e2ac4a9d106d9be6e42e2d8bcca7"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"e5a07cb9cf92db93", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"e6efa6cefdf37e00", "ab800a2dbd6d0e50595811e181e1f3f6162c479c72cdeb3cdf6d2d547b34e3e4"}, /* mla_v_out/mma_fp8 sm_80 */
    {"e8595552b2925149", "5c1eb1b99be6f578eb93c87dc69e19c6bb668833fe41fe585a2f7328a0b50197"}, /* mla_q_scale/rows gfx942 */
    {"e91a6b08ef6da509", "93c60847d39f192326b4a89de1858c086b650fd6b8077f3eb1cf5b8cb7521ca8"}, /* concat_keys sm_90a */
    {"e94b7ed6319322fe", "b21a1c9a29656c29c1883f84301caa3c8dde0cee017e08c3248576fa011c9a65"}, /* mla_decode/sm90_many sm_90a */
    {"e9bc18543f6bc1be", "893a8279769ee8ee0a9ce23d8c76e86faa8a2f8959bd245aceecbeaa9f820d5c"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"ea7c7b4870086b48", "4bc3d4340fd114c6acc2d57a811d63af3d4463d73c4cc26d48042b288fc23d9f"}, /* mla_decode/mma sm_90a */
    {"eb5503cf2cf51a93", "9bf897a1a50e177442c59f1a8351ec873ca2c4d843faaf7b185efd633632d497"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"ece7b8b51660bd3a", "e50173d02b7492e1e330566934c4ded0e60ec487d7614a25ed7ae95ab66fd10d"}, /* mla_q_absorb/dot gfx942 */
    {"eda0723824ec859e", "a2e4c907187f96cfbfe455e4c1be3e2b1c280313a7a3838c209f706071cb45d6"}, /* mla_qkv_a/mfma gfx942 */
    {"edd8c1b1a97ba061", "b819c3fc55c5cb6626113788485aa9f883c472aab065723ac57311f212fdccc0"}, /* mla_q_absorb/stay gfx942 */
    {"ee52adb6a3393e38", "5d6768ad1168ae1c2e7f456e33638adc8b66a76a2586e7523b7213af24f18ad6"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"ee5f032eafa8f951", "16fa6ea59c0bed1e26c99595221976b8708aae3b431bc9c00409ee1ae8c0c08d"}, /* block_tables gfx942 */
    {"ee91589c9721178f", "bc81d517dfdb4e7ac2461aead79bac9423ab728ce80df4b07478442e16fd53dc"}, /* mla_q_b/mma_append sm_90a */
    {"efb746d24d08c24d", "2a5b83a6db80b766c0d60cb5f8e7b70968de07e723b88f53e3554ff3e93149f2"}, /* mla_q_b/stream_fp8 sm_90a */
    {"f05da81f2a1f35e1", "d36da41e7506ad8648300f8086173c3d3de5715a43b940b1fc28283fd0bb8536"}, /* mla_q_b/aside gfx942 */
    {"f0ef6cebe888e271", "390a2d7fd2031c09c17168d247adc52a0ac65913e9a40ab27a7d4abe995af329"}, /* mla_q_b/dot_append sm_90a */
    {"f329356606a661c5", "b959897e221ae47268d0740bee89885c53e3ace5ae649527349cb749693b12a2"}, /* mla_qkv_a/ring sm_90a */
    {"f3f8b339390f92d6", "7f1249ffe200941236f260ae164c6b8a554e283e246569008f8cb0ed8552d237"},
      /* mla_decode/combine_values sm_90a */
    {"f4c2437bdec1a2a7", "713de32a5f66e05ccab64a5f4b749c15c7ceae0ed2aaf22d85dcb0e9b3cd7fe7"}, /* mla_q_absorb/walk sm_90a */
    {"f4e9327d0c2323a9", "ab800a2dbd6d0e50595811e181e1f3f6162c479c72cdeb3cdf6d2d547b34e3e4"}, /* mla_v_out/mma_fp8 sm_80 */
    {"f56660e824a3b5b7", "63001e2b95e24db3ee279be63d0a12c80ec39c3046e9153b33f0533d4213373a"}, /* mla_q_b/mfma gfx942 */
    {"f695cbac4053a7e2", "a2af323dd468df60df246c4a4ea307e5c1cef51d11d600882856ce838b6ceb6b"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"f6a28c889e8e6892", "390a2d7fd2031c09c17168d247adc52a0ac65913e9a40ab27a7d4abe995af329"}, /* mla_q_b/dot_append sm_90a */
    {"f6a2a0bb7da35eed", "e63bf01e07025e26915e00349ef9a0a1dbd1ac134495892bd9edfdbed984c264"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"f6ec20d4a70d28b0", "110f024ba5cba47e05251fac504a843d418d60e93976c82b7f9ed75f0a148c49"}, /* mla_q_b/staged gfx942 */
    {"f80b0b3bf7b847a6", "580cd01bf5ab9ca49fb74ee866c535a3d4faf53f24cf7bdfedbc889639408f20"}, /* mla_q_b/ring_fp8 sm_90a */
    {"f83c1ce4924bf461", "51b309294b845aade4b4b40e2eb398215aea9d5e7fde8415d76d286c6cbdfb00"}, /* mla_o_proj/stream sm_90a */
    {"f87373c9516fbbcc", "1e1790e7e666b4230cdda321c34503683e7e80c93427265f8b940264a0cc5b07"}, /* mla_decode/mma_rotate sm_80 */
    {"f9d40e1e27a0ba48", "e89c78989b20c2938bb155d89dbe85fab0b0162b2064ae523dfbf58baca98f7c"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"fa7567379258e5ab", "e6507ff3310c7382d5619a60938a74774896052f10a59098202f8584e9f0b42a"}, /* mla_o_proj/dot gfx942 */
    {"faf8f403fe6608d3", "f09f115713353e05f6155f11054e3a42752d593d0eef0d72393c3d724da8d691"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fb131547c90c6319", "6515a855e45d0fa7e6337780507e9af1e4ec49f7ff96bc41ed2ec6948bb2ff09"}, /* mla_v_out/mma sm_80 */
    {"fbcb8fa6b7ca3b32", "b959897e221ae47268d0740bee89885c53e3ace5ae649527349cb749693b12a2"}, /* mla_qkv_a/ring sm_90a */
    {"fd76828542943bfa", "a631d2d0c021b5f6ba200d24cf9c3366efbe905af601e020b4e754b33f89ce6b"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"fda4bad61cc9fc3b", "f09f115713353e05f6155f11054e3a42752d593d0eef0d72393c3d724da8d691"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fe1339afab641a22", "243cece82fadce15b851b87af7f9778d5b4edf7f37cabec4577655e855fdb30e"}, /* mla_decode/mma sm_80 */
    {"fe32902222c7f464", "ee501e583f85c0a91ddc96be02dd7b67bd96895f46467ae48663c6ed643e4ba5"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"fec965e3184d8131", "c3429ca9d75093ec41650f9acf5ef6e3161ec45601df0e7288fa14cabb303f51"}, /* mla_q_b/mma sm_80 */
    {"fed5809399af3475", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"ff8507ae1ea47b7d", "9c2dc138e91b2992d24a3a7b0835e5764d76cc9a0ce56c8f69e2fef9b58a5d07"}, /* mla_o_proj/mma_fp8 sm_90a */
};
const size_t mlaf_n_known_hashes = sizeof mlaf_known_hashes / sizeof *mlaf_known_hashes;
