/* Made by tools/known-hashes.lua. Do not edit. */
#include "db/known_hashes.h"

const mlaf_known_hash mlaf_known_hashes[] = {
    {"002996cb062a4404", "0b7a4a4586db5b71d14e43497010b6224ebf1efc3ca7a6afd8729fc34f1c72df"}, /* mla_v_out/dot sm_90a */
    {"0099333f06578fb9", "43081811e5bcf8d9369a42d7b633a890261194376624304b971d97071089f377"}, /* concat_keys gfx942 */
    {"017affbcc229867c", "26950d772c2ea6e8450dbdf47da7e258b5d90167eb1536082e9619a938b4819e"}, /* mla_q_b/ring_fp8 sm_90a */
    {"0180b680018f5e05", "6dbeb7b66f6610d22a40188c54670c7643247c9349acdb3e4fcb4fe4c711d358"}, /* mla_qkv_a/stream sm_90a */
    {"021a651004f64321", "bba545d65befe4ca1ff602da09b0358424880b5bfa3a513d3286faecb520ea42"}, /* read_ceiling gfx942 */
    {"0240b5582b0c94b0", "a16461ec933b7c4add43a953e47555f2a2b02db459453f79a3c04123490bd68f"}, /* mla_qkv_a/mfma gfx942 */
    {"02accdfde69cc31f", "e8342ddea5e060ee67fd791ce2a5cbe4b49532557d7602061a3141d4ec798617"}, /* mla_q_absorb/aside sm_90a */
    {"02b66463aea36021", "15b6358e0e9c9fdcd02f2d870918f47aabdc6bdc15a4f0cb1f183e0da822a433"}, /* mla_q_b/dot sm_90a */
    {"0392892df182e8ef", "92e4ea93fa8f128ad0f1b4be9ef5aa42d977fcbe2e8aea7d3324fdc09eea054a"}, /* mla_qkv_a/dot gfx942 */
    {"06b879cd31c4cde3", "0c315a3782c861a2684e7609abfe690307011de7ecd372eff8de7758136e18cd"}, /* mla_append/rows sm_90a */
    {"06f67ddb30531914", "cae65cbf6159cc54b4dbc14377105df3ad24cc91c5ebd806cff788a57cca52fc"}, /* read_ceiling sm_90a */
    {"0783966d0b0829ef", "f81a5467b5d02607b73cec9e266175ea11f83f23c9909509cd5235ea8bad760c"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"08b11b5748096b6c", "bfd1ec9e79aa16e00fe68a7790900554350488fae03a6c5e348bfb623d972f4a"}, /* mla_merge/rows sm_90a */
    {"08badd25596528c5", "7c383c69b2de8ddc1bf0e72ecca330a121d06e4a1fc96a51fe8afc5a8ffc2d9d"}, /* soak_compare sm_90a */
    {"0a716342774df22d", "2d6715d9a5c78c2ddd1135257d855e1dfd085b742b79dba60ad51f1dda1b64f9"}, /* mla_q_absorb/stay gfx942 */
    {"0b4e3499fe719061", "0d8c0ea030e4951ca8a61fc9c29729e392d11e2cef7a519f36e55e84a3a68961"}, /* mla_q_absorb/aside gfx942 */
    {"0c8b5f259909808b", "532de510fb9558cd95cf4202768846e2d8d10530aacadc481a36b3bda08f7438"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"0d4fcf8e1278bea3", "4090ddf46076897dc399fc2e10dce26f57480f5e5ff9df12ececa6a9da073ace"}, /* mla_q_b/mma_fp8 sm_90a */
    {"0d86294805a38a5e", "fd50652705a27c9dcdd099f7f9a5b013dc7e7871290eb3813c50d14423ea54f8"}, /* mla_decode/mma_cache sm_80 */
    {"0e2a6d59b74ede44", "21d0e385e84219b9ee648750239041828745bf557d2883c9888b231ac8a55674"}, /* mla_v_out/dot_fp8 sm_90a */
    {"0e8ae991bf5b72f3", "6facba9a6ebc2180b73c68f26a94fc35e5dc288b01bd2dfaebee5f0bcb0f2844"}, /* mla_v_out/mma sm_80 */
    {"0f04903a38d4270c", "65f9041ac34a3ab7e36b1ea8cb31a02863588464c0f831e4bb5e59609d317eb0"}, /* mla_decode/combine_wave gfx942 */
    {"0fa9c84ce3ce982b", "3096b99d02854d0a3ecf57039b6a056c20982b45c60c892e686021ec6bee0706"}, /* mla_q_absorb/stream sm_90a */
    {"1032eb98904ced0f", "6dbeb7b66f6610d22a40188c54670c7643247c9349acdb3e4fcb4fe4c711d358"}, /* mla_qkv_a/stream sm_90a */
    {"10d1b6e758cd7d12", "0afa9be00e03cc507884d89f30b37302af91262181bfd0ca05471ebe22c131aa"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"110f024ba5cba47e", "573e4c7706a69ad8d22982b34d2ecb7dee53aa7277abd177845fd443df52da2c"}, /* mla_q_b/staged gfx942 */
    {"124103d29b91adf7", "b6fe2bf8388b9e101d51e326423b211899cc6dfc0e310b9bbe6008b0f04b8578"}, /* mla_o_proj/ring sm_90a */
    {"124d5f4d1e193150", "408c5976d70a66b41db3edc6801976c86e5b64977f4e6aa4b74f78ab281cf9f9"}, /* mla_q_absorb/mma sm_90a */
    {"129814ac9fdb7a0c", "0afa9be00e03cc507884d89f30b37302af91262181bfd0ca05471ebe22c131aa"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"12d1a04c0f40a3f6", "5c61c7069e7ce5efc36a290cfef8f642d42bea8e242f06f7abaaedbd68d0390b"}, /* mla_q_b/mma sm_80 */
    {"152bef3a1df0c1d9", "4643b343f64f01e790675931952535fc450d0787b605eccb453ec065bda334a9"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"1693b638a52c50c1", "7e36a6698555a736a4c164f86d283304d14c8d0187b93d5d1783135cd30f87c7"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"17933c3339f4c775", "0afa9be00e03cc507884d89f30b37302af91262181bfd0ca05471ebe22c131aa"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"17bad060b4cafc04", "5aed77cbed6293579381f93172cd5e5fe1aa8ebebae25738c36f025d9441776e"}, /* mla_q_b/stream_append sm_90a */
    {"18120d6e3c8b31e2", "62064e783bde7133f68be96f912fe97d6dd89191d996bd90195b7342d72afe1f"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"193edb37cce5f843", "31a2c5a5419efb1f9ee8980b3f89e35263bfec2d2b62f386e8a62109f6cebd96"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"1947b466bf6133d8", "4b6ced7b3ba13d7de52861f30b2943e2526e9601b08d35ae5d153bf21cbf1c66"},
      /* mla_decode/combine_mixed sm_90a */
    {"1a411de1af9f59e8", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"1bdc529c9c3ed776", "4081dcb8cc411ed8f3b9acc3f44eb34cc562f9e0ef29f9f19b6d5b010a885dc0"}, /* mla_o_proj/dot sm_90a */
    {"1bdeef7653f66f40", "893a8279769ee8ee0a9ce23d8c76e86faa8a2f8959bd245aceecbeaa9f820d5c"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"1c5116de79f792f4", "ed139002c6ab1a1d671fc8a3a9c3818798a512682f6416b77bf16149ffa11706"},
      /* mla_decode/combine_wave_invariant gfx942 */
    {"1c6f3fdfd0571626", "b3647cd2f5662e428d3829d59145a4e5c0524bcd4768e2d6faab1a269fa1928e"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"1cdfdc1bb30c0376", "0977344f2929ac443635314ae0bff7c9070aad1e74b64978ca44404f60e1c7f6"}, /* mla_decode/mma sm_90a */
    {"1e1790e7e666b423", "32edb9280665c726eb20e9ae739a150050d3438c4ce9a39e511136649cf983bf"}, /* mla_decode/mma_rotate sm_80 */
    {"1e34c3c53d53a799", "ec9a8206a753481634c45012c03e17038390b85a6311e31ab2e9d17faa726c6c"}, /* mla_q_b/stream_fp8 sm_90a */
    {"1e6347fcfe15e327", "408c5976d70a66b41db3edc6801976c86e5b64977f4e6aa4b74f78ab281cf9f9"}, /* mla_q_absorb/mma sm_90a */
    {"1f58124c6ff7f7c2", "df4f872c4e5532a0c52dea1bc258e1a6a1efd420960b269c8fa319cbc257c9b5"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"1f7c88343551ecac", "feceddbe795a43ae148f2516f4a0c9fad01f31545db9cbbb05666e6f5397b915"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"1fb0c4c79d126e72", "d166632f905e73606c0872d8aa6f844dd142ba1169f86b7f711267e504a559f2"}, /* mla_q_absorb/dot gfx942 */
    {"20b96f79c58f6588", "acf11eb4c09bfd7f81c50717ee0fdab072813097286507b3d656f33db2e18361"}, /* mla_prefill/mma_fp8 sm_89 */
    {"214aa75e4e9a90e8", "a715dcdb5f52feeb6f0079786a77cc36463628efbc775408557307586c7a7ddb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"221f20d2b6ef96e9", "d883ce75eecdc7a19b7ed706148355eec48d8848561e2021e5fd8d93cbc220ba"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"222d69e6ccc6b7bc", "9ad0ffd1a7e94f796fbc734509881ba98842f09cc56594f6a2161d963ad151b2"}, /* mla_decode/mfma_lds gfx942 */
    {"2323b7bdde0c2738", "4090ddf46076897dc399fc2e10dce26f57480f5e5ff9df12ececa6a9da073ace"}, /* mla_q_b/mma_fp8 sm_90a */
    {"233529f1fccec677", "94015211a1ee792d36a8f968e80edf5f92131a34543d304aaddf62b65acdb0ab"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"23455190dd08e62c", "60290826fa89360a349205180561cdcc614ec8debf5c4e75b0e1d1ccfb6b817c"}, /* mla_q_absorb/mfma gfx942 */
    {"23e0c08cae209cfb", "0afa9be00e03cc507884d89f30b37302af91262181bfd0ca05471ebe22c131aa"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"243cece82fadce15", "a4973133745cccdf03ba73a2d9988174d5f32c73154b0e5564039229cc8b437b"}, /* mla_decode/mma sm_80 */
    {"24890a82b3314e99", "06f1151bbc1c9586232116f2a2c9d6aa870f3ba3a54d73fbca658d1389c10558"}, /* mla_v_out/stream sm_90a */
    {"2615e6e1dfe6bb97", "e50d0f398e2cd416ddfb7613f25aaa546cddcd9e58b61cd52192ffa4bf176813"}, /* mla_o_proj/stream sm_90a */
    {"2636748d063f8cfb", "4090ddf46076897dc399fc2e10dce26f57480f5e5ff9df12ececa6a9da073ace"}, /* mla_q_b/mma_fp8 sm_90a */
    {"268ca0c6443a6453", "a46495f3664ee8a4fe55a2fefb86784e373629630e9df809b18d70c93cd998da"}, /* mla_dequant/rows sm_90a */
    {"269d231920b671c3", "b3647cd2f5662e428d3829d59145a4e5c0524bcd4768e2d6faab1a269fa1928e"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"26cd093462e3d891", "12e5d67afa31e6a31265b3558f0f87c3f40282225e6c21ec00c083c9edd9fb64"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"26ea11888539f4ab", "27fc4a1b96e606ca636faa5bd7f428926265d51d98f8ff86182383a036ec3e1a"}, /* mla_q_b/ring_append sm_90a */
    {"26f078ba08100f05", "f81a5467b5d02607b73cec9e266175ea11f83f23c9909509cd5235ea8bad760c"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"278a135ace614028", "feceddbe795a43ae148f2516f4a0c9fad01f31545db9cbbb05666e6f5397b915"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"27974a4ef116b9ca", "94015211a1ee792d36a8f968e80edf5f92131a34543d304aaddf62b65acdb0ab"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"27f3884e467b2d81", "c698f1ff3355683afc471a96c486ebf4cbb4f31c0c479ec0cb7587c0aa768a0b"}, /* mla_qkv_a/mma sm_90a */
    {"28e277ca6b52ccac", "87bacde037f84467bec83f0c20cdef9eb70b9d9173271f31c1832935ed8f02d5"},
      /* mla_decode/combine_values sm_90a */
    {"2a5b83a6db80b766", "ec9a8206a753481634c45012c03e17038390b85a6311e31ab2e9d17faa726c6c"}, /* mla_q_b/stream_fp8 sm_90a */
    {"2a82f4ef0d1075e7", "a940949bf9c0441eab041998fbd82819aee79ec305433a4361b5cc1aba3c83d6"}, /* mla_append/rows sm_80 */
    {"2b0f58654166561c", "c85c347fd6cfa9204ae6915979736782ef06a91b6e08d625e478741440c33cce"}, /* mla_o_proj/mma sm_80 */
    {"2b350b48e1af7fd0", "fffd175c5694285a15eac65b6b25ad3f5c6a92bbbd4c747dc9107a4d6a278cdf"}, /* mla_prefill/mma_fp8 sm_90a */
    {"2ba1759a118aa753", "92e4ea93fa8f128ad0f1b4be9ef5aa42d977fcbe2e8aea7d3324fdc09eea054a"}, /* mla_qkv_a/dot gfx942 */
    {"2bce608d0db9ab74", "9a042f67cd07cee8cafcf9645469adf9ba43aa4d6da0e96907db5fe823dec7b9"}, /* mla_q_b/aside sm_90a */
    {"2cf57293ee7ac1fd", "868f0e8996721a0a5fa3688f8fc1d213f550b9e8275aeb6390d204648a42a9ca"}, /* mla_q_b/dot_fp8 sm_90a */
    {"2d52e6432622dddd", "6d1cb71460be196ebca8ae5e7cdb3ef2011f8344f5a34e7434af6790f64930b8"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"2dded909b31163e2", "27fc4a1b96e606ca636faa5bd7f428926265d51d98f8ff86182383a036ec3e1a"}, /* mla_q_b/ring_append sm_90a */
    {"2df31fdc39dc157e", "66097e160f66c6a7f0f3c084ea9c30d1039158ed51e028a0cb08a9a191ca0ba8"}, /* mla_o_proj/mfma gfx942 */
    {"2e6c98e9ff457d22", "586bbb7c4941821e7a4635699053cea9f778126d98d989b8bd2c4bb242a36e04"}, /* mla_gather_kv_b/mma sm_80 */
    {"2e7857ffc5373272", "2256f91f8eaf74ab8257e51e59561ecdbacb358cc5f1a24f4850e731195bfa13"}, /* mla_qkv_a/staged gfx942 */
    {"2f21c6efa0126721", "feceddbe795a43ae148f2516f4a0c9fad01f31545db9cbbb05666e6f5397b915"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"2f84a328bbb2af09", "868f0e8996721a0a5fa3688f8fc1d213f550b9e8275aeb6390d204648a42a9ca"}, /* mla_q_b/dot_fp8 sm_90a */
    {"300005868dcf6199", "d1b6999f1e51df85dd70acc9f8377a00a128a991ff40970bcc0c241091146c1a"}, /* mla_gather_kv_b/mfma gfx942 */
    {"30b789a2587e7aec", "d166632f905e73606c0872d8aa6f844dd142ba1169f86b7f711267e504a559f2"}, /* mla_q_absorb/dot gfx942 */
    {"30f00476bda7734f", "a2b4bea8b98730855c7c2626749527f01dcd76dea2273a9a4ca8c2e58db35ae4"}, /* mla_gather_kv_b/mma sm_90a */
    {"32025315f5d512e7", "06f1151bbc1c9586232116f2a2c9d6aa870f3ba3a54d73fbca658d1389c10558"}, /* mla_v_out/stream sm_90a */
    {"326ca7b3f2cd22bd", "bba545d65befe4ca1ff602da09b0358424880b5bfa3a513d3286faecb520ea42"}, /* read_ceiling gfx942 */
    {"32bd5eb631409861", "4f8ba32f2d539913a1f30fcef1b573361fb55dcbbfa93f6b6e47607c55a27fb9"}, /* mla_q_absorb/mma sm_80 */
    {"3387aedfd1a3c546", "4f8ba32f2d539913a1f30fcef1b573361fb55dcbbfa93f6b6e47607c55a27fb9"}, /* mla_q_absorb/mma sm_80 */
    {"338899771c926bb5", "d36da41e7506ad8648300f8086173c3d3de5715a43b940b1fc28283fd0bb8536"}, /* mla_q_b/aside gfx942 */
    {"33ffc18b6f7ab1d9", "4d71d7fd2595fc227b4475697a7c1886b892937f4ceb0a395eebe1c346623ef3"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"3493f904afe3548f", "45b816884bf640bf8d3624cea61a5c1a168c6740bbbc72935ad10e66a5f7182d"}, /* mla_o_proj/staged gfx942 */
    {"34b9166ddf6590af", "0977344f2929ac443635314ae0bff7c9070aad1e74b64978ca44404f60e1c7f6"}, /* mla_decode/mma sm_90a */
    {"364f60fc9dd2cdae", "b6fe2bf8388b9e101d51e326423b211899cc6dfc0e310b9bbe6008b0f04b8578"}, /* mla_o_proj/ring sm_90a */
    {"36995eb5935f7a10", "21d0e385e84219b9ee648750239041828745bf557d2883c9888b231ac8a55674"}, /* mla_v_out/dot_fp8 sm_90a */
    {"37ed2c5e94c1de81", "dbd50aace2ffb818ec070c109569e238415bcae7882607604927c9a32e6dd9bf"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"38787690d9481f76", "97217a77154e74028fa29c931ee9c5a824b06ee2d0cd57b8ba0937c74c705020"}, /* mla_v_out/mma sm_90a */
    {"388cc637fa03bc11", "9a042f67cd07cee8cafcf9645469adf9ba43aa4d6da0e96907db5fe823dec7b9"}, /* mla_q_b/aside sm_90a */
    {"390a2d7fd2031c09", "5f7e0bdd079c89b05c4f955c9d8c1220bd42f6157c6b8d511c109e7b1618926c"}, /* mla_q_b/dot_append sm_90a */
    {"3a020fc567fbd0ac", "32edb9280665c726eb20e9ae739a150050d3438c4ce9a39e511136649cf983bf"}, /* mla_decode/mma_rotate sm_80 */
    {"3ad141a761f94571", "827f4c8e744e101e5483ef3cc4169ca8c059386898d4687e4d24607315a4b69b"}, /* mla_q_b/wide_fp8 sm_90a */
    {"3b44287253edb0dc", "6facba9a6ebc2180b73c68f26a94fc35e5dc288b01bd2dfaebee5f0bcb0f2844"}, /* mla_v_out/mma sm_80 */
    {"3bb00d178e62def6", "9bf36941b9a1e459b088d35517873bdf9727ac3cb74e6480c3d5ff8d7d0aa696"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"3d37efd7886df631", "f2f54cda386e669b3af0cb209709fc0d2f6ed6aefc44eaa32b1ec2fae9bac3f1"}, /* mla_gather_kv_b/aside sm_90a */
    {"3d7c41da3c2c689e", "0193718d77882a0992b54efdf849e8561e1c199c5b1644c4ffa7f3dd17052fdf"}, /* mla_gather_kv_b/mfma gfx950 */
    {"3ec5e4aad7e2cf21", "3096b99d02854d0a3ecf57039b6a056c20982b45c60c892e686021ec6bee0706"}, /* mla_q_absorb/stream sm_90a */
    {"3ef2f7a9b79c66af", "12ac08fd6823ffc9d1477ac4089533fbd79dfee0d485085c9082f7f4304435be"}, /* mla_v_out/ring_fp8 sm_90a */
    {"3fe8e49baa613223", "89e2b2ad84fa43ab7aa1aaa53717becf6cf4b67bc716ecd1e7e93d52be4b5998"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"410726ea7b6bfd7a", "6dbeb7b66f6610d22a40188c54670c7643247c9349acdb3e4fcb4fe4c711d358"}, /* mla_qkv_a/stream sm_90a */
    {"41c8cb744f3ffa8a", "c698f1ff3355683afc471a96c486ebf4cbb4f31c0c479ec0cb7587c0aa768a0b"}, /* mla_qkv_a/mma sm_90a */
    {"421af555c8555a0b", "f5c652573bc7daee560ee0fd96efdedac8d812db6a122aff9a800d9fc886c528"}, /* mla_decode/mfma_reg gfx950 */
    {"42b5d3895244ce0f", "92e4ea93fa8f128ad0f1b4be9ef5aa42d977fcbe2e8aea7d3324fdc09eea054a"}, /* mla_qkv_a/dot gfx942 */
    {"42cf2b70e0b8ec99", "13386f34948aab94218e9bd2ed6291c554e938900406be5cfa866600bfee6f25"},
      /* mla_decode/mfma_reg_cache gfx950 */
    {"4304322d37e36a40", "f2f54cda386e669b3af0cb209709fc0d2f6ed6aefc44eaa32b1ec2fae9bac3f1"}, /* mla_gather_kv_b/aside sm_90a */
    {"434b918acd7cc0bb", "d908af73d519041208bf9c45d0927af8abbefce343c50e27d903658f0986acf7"}, /* mla_v_out/dot gfx942 */
    {"43647078c6e0ad33", "21d0e385e84219b9ee648750239041828745bf557d2883c9888b231ac8a55674"}, /* mla_v_out/dot_fp8 sm_90a */
    {"437c5d08dc60bf9e", "8658df2331db27d5dd7ad2dda41fec5e7ae08e76ce2eecb342733dda4b1f1259"}, /* mla_v_out/stream_fp8 sm_90a */
    {"43ab539cf042cf4b", "f0033153ad965c99a743ff6a72714d4976603ae1ae3afc66bc8960fa6b9e5812"}, /* mla_q_b/dot gfx942 */
    {"43f367afc69ac9ec", "20896c4cc1bf7a436a7419ad993fb10339a7e37f8e540fbc2616e3a4a496e4cc"}, /* mla_q_b/staged_append gfx942 */
    {"44190bdc13d5ea12", "9bf36941b9a1e459b088d35517873bdf9727ac3cb74e6480c3d5ff8d7d0aa696"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"4423dd8ed7e95c52", "3096b99d02854d0a3ecf57039b6a056c20982b45c60c892e686021ec6bee0706"}, /* mla_q_absorb/stream sm_90a */
    {"44c4a1901777f43b", "12e5d67afa31e6a31265b3558f0f87c3f40282225e6c21ec00c083c9edd9fb64"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"44f1a5ffa0dceb8b", "cba87a1dd7a64c6c8715fdd4fcc5aa9aa2c028199e027fa6376a7618a96f0a8a"}, /* mla_o_proj/mma sm_90a */
    {"4525759faa026781", "e8342ddea5e060ee67fd791ce2a5cbe4b49532557d7602061a3141d4ec798617"}, /* mla_q_absorb/aside sm_90a */
    {"45f7fe1f529af379", "1f8628cf6c7451a1c5de96fa11a2be24f02560fee09ef5549865296d42d0cb23"}, /* mla_v_out/wide_fp8 sm_90a */
    {"466ee13d25cced4e", "267d9d06afab9810b9a4171b9f815efb32ea82636527a1d31b385d923dad5f6a"}, /* mla_append/rows gfx942 */
    {"46738ec6ead489fa", "dbd50aace2ffb818ec070c109569e238415bcae7882607604927c9a32e6dd9bf"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4688f8af6acfb47a", "89e2b2ad84fa43ab7aa1aaa53717becf6cf4b67bc716ecd1e7e93d52be4b5998"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"482330ae4693aa08", "06f1151bbc1c9586232116f2a2c9d6aa870f3ba3a54d73fbca658d1389c10558"}, /* mla_v_out/stream sm_90a */
    {"483ba79cb9824930", "d3e5a658ede3af7bb14beb172a6ff274344f13c89e376d8a70bd77d6000a6385"}, /* mla_qkv_a/mma sm_80 */
    {"488a2cf5ee6054e1", "586bbb7c4941821e7a4635699053cea9f778126d98d989b8bd2c4bb242a36e04"}, /* mla_gather_kv_b/mma sm_80 */
    {"489f7d272b0d7312", "0702f14a262707b2478e45c5b534a2194786067bbc0b069c3f91d104e2ea341f"}, /* mla_decode/sm90_mid sm_90a */
    {"4a209c1c1cc4633d", "5c1eb1b99be6f578eb93c87dc69e19c6bb668833fe41fe585a2f7328a0b50197"}, /* mla_q_scale/rows gfx942 */
    {"4a24dc6c5db91e61", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"4ab451e74881bb36", "27532d1506ead32b32851849904a93fc557bd55ac8c018a664a65370b9c1d7c6"}, /* mla_q_scale/rows sm_80 */
    {"4bac024c7d78cb0e", "f16f3774af8e7f0f58cc0525297ce748c76f3b59389e7e5d688e723627ffa155"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"4bb7fccf59902f62", "6a6ef66584c773576e07c6c1925d79659b08ac1c7162fdb12fa56b9fdf0ce611"},
      /* mla_decode/combine_early sm_90a */
    {"4bc3d4340fd114c6", "0977344f2929ac443635314ae0bff7c9070aad1e74b64978ca44404f60e1c7f6"}, /* mla_decode/mma sm_90a */
    {"4bc779bbfb4a8adb", "62064e783bde7133f68be96f912fe97d6dd89191d996bd90195b7342d72afe1f"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"4c3f4a38d2d43d33", "4d71d7fd2595fc227b4475697a7c1886b892937f4ceb0a395eebe1c346623ef3"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"4c449798b7f064e8", "03e1df44ca5f101fd7010095866e14ed49e5fa5ad307d8c57732e3699af48518"}, /* mla_prefill/sm90 sm_90a */
    {"4d8e488c2851dd96", "50672d0339cb52ded21ebcbb55cf528552f6479d67da847d4e6a9b6190a48a6a"}, /* mla_q_b/mfma_append gfx942 */
    {"4db92c53c47c33a2", "03e1df44ca5f101fd7010095866e14ed49e5fa5ad307d8c57732e3699af48518"}, /* mla_prefill/sm90 sm_90a */
    {"4f1693de56b369af", "42a0b483eb23773b6ed2600017ead19306c7d003be2a2a85978413998e771d27"},
      /* mla_prefill/mma_invariant sm_90a */
    {"4f45ed073002d229", "cba87a1dd7a64c6c8715fdd4fcc5aa9aa2c028199e027fa6376a7618a96f0a8a"}, /* mla_o_proj/mma sm_90a */
    {"4fae61dbb67cf1e7", "dbd50aace2ffb818ec070c109569e238415bcae7882607604927c9a32e6dd9bf"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"4fb918a81b255c2a", "827f4c8e744e101e5483ef3cc4169ca8c059386898d4687e4d24607315a4b69b"}, /* mla_q_b/wide_fp8 sm_90a */
    {"5077a10c0502b2b3", "4f8ba32f2d539913a1f30fcef1b573361fb55dcbbfa93f6b6e47607c55a27fb9"}, /* mla_q_absorb/mma sm_80 */
    {"508f8bd39d0aa3d2", "3096b99d02854d0a3ecf57039b6a056c20982b45c60c892e686021ec6bee0706"}, /* mla_q_absorb/stream sm_90a */
    {"50b8dd8522e4f88d", "d1b6999f1e51df85dd70acc9f8377a00a128a991ff40970bcc0c241091146c1a"}, /* mla_gather_kv_b/mfma gfx942 */
    {"50d31c6fd9baa7ea", "2abf6b7c974b6ca71c9d54551268b2dc2b539ef7466687b3d6a22e95d7d4f40c"}, /* mla_qkv_a/ring sm_90a */
    {"518e4471bff1f45a", "0b7a4a4586db5b71d14e43497010b6224ebf1efc3ca7a6afd8729fc34f1c72df"}, /* mla_v_out/dot sm_90a */
    {"51b309294b845aad", "e50d0f398e2cd416ddfb7613f25aaa546cddcd9e58b61cd52192ffa4bf176813"}, /* mla_o_proj/stream sm_90a */
    {"51d6be2f8297b0fd", "56ca7bbd00bd0031819e36990f8b5cfd1bc89e1967204d19677bf962cb3c5f70"}, /* mla_v_out/mfma gfx942 */
    {"51e8e260ed48722d", "408c5976d70a66b41db3edc6801976c86e5b64977f4e6aa4b74f78ab281cf9f9"}, /* mla_q_absorb/mma sm_90a */
    {"522dfe7ac6e5765c", "586bbb7c4941821e7a4635699053cea9f778126d98d989b8bd2c4bb242a36e04"}, /* mla_gather_kv_b/mma sm_80 */
    {"534cc794f84b0c00", "23fb60230864c019c82ff643aa8851d044ffd9db5342cd387215f57f7601df26"}, /* mla_qkv_a/dot sm_90a */
    {"5515d5f8c3557370", "0f1bd9e6ead45894a2ee24f95d5e41726a60211721238f67eba29639ccac783f"}, /* block_tables sm_90a */
    {"55956f100523f84d", "fffd175c5694285a15eac65b6b25ad3f5c6a92bbbd4c747dc9107a4d6a278cdf"}, /* mla_prefill/mma_fp8 sm_90a */
    {"55a071889cb1c73a", "f1afedcfaffffab0b2521782f1b7db9229ed870120f4ac01f29252996d19b552"}, /* mla_gather_kv_b/mfma gfx90a */
    {"563edcd2a92fad24", "27532d1506ead32b32851849904a93fc557bd55ac8c018a664a65370b9c1d7c6"}, /* mla_q_scale/rows sm_80 */
    {"576551df5696a9a0", "42a0b483eb23773b6ed2600017ead19306c7d003be2a2a85978413998e771d27"},
      /* mla_prefill/mma_invariant sm_90a */
    {"580cd01bf5ab9ca4", "26950d772c2ea6e8450dbdf47da7e258b5d90167eb1536082e9619a938b4819e"}, /* mla_q_b/ring_fp8 sm_90a */
    {"581584064a354fa9", "573edb96c564a07db0c02f369ad0d6659710f149b9f2be792524a9ae265061ce"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"581df0bdcae64434", "6d2b328d8ecb7bc6e66c1dce552b363bfe65d4a6996e927a4c1e57286b2a5646"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"58f564a4e5a11442", "5def24a3c47d54194328415744082065e5823a1cefd35885959948741b878c08"}, /* index_lists gfx942 */
    {"590fe990ff3b7a96", "6a6ef66584c773576e07c6c1925d79659b08ac1c7162fdb12fa56b9fdf0ce611"},
      /* mla_decode/combine_early sm_90a */
    {"592e7e7e616645ae", "5c050fc21e631fbbc8e61e4ee1f83bff9880638cedd8093ac554034e83203d19"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"5b7ee567c192eac4", "aafbd36910bbb7f9acc95104bed288d6e4438099bd298995140b5aa7952a79b3"}, /* mla_q_absorb/dot sm_90a */
    {"5ba2ff28ac49f298", "12e5d67afa31e6a31265b3558f0f87c3f40282225e6c21ec00c083c9edd9fb64"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"5c26c10f373a9eee", "9bf36941b9a1e459b088d35517873bdf9727ac3cb74e6480c3d5ff8d7d0aa696"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"5c67315b5bdbda22", "cba87a1dd7a64c6c8715fdd4fcc5aa9aa2c028199e027fa6376a7618a96f0a8a"}, /* mla_o_proj/mma sm_90a */
    {"5c67ebc31b400ae3", "fe307bd21ac87fad57af79d1b69b80388d3e9f8b9cfad9d82fa1b8f9d43c61e0"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"5d6768ad1168ae1c", "f16f3774af8e7f0f58cc0525297ce748c76f3b59389e7e5d688e723627ffa155"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"5d8b3cf12369dfa8", "54a2a7d3e298f06bd7905c6e79b92ceacdf22c0fc29c555f8cea7323cf2196fb"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"5e19f39942f6610d", "4b6ced7b3ba13d7de52861f30b2943e2526e9601b08d35ae5d153bf21cbf1c66"},
      /* mla_decode/combine_mixed sm_90a */
    {"5e40988626e209a2", "b5546abc5c7d8e24fc6bb3b6c2a52e0c13562be92adb6c41d25a9cc6a257265c"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"5e4983454b2827ad", "b6fe2bf8388b9e101d51e326423b211899cc6dfc0e310b9bbe6008b0f04b8578"}, /* mla_o_proj/ring sm_90a */
    {"5e95e61caa638de5", "0a0e6971cfb1944a7c181d777bc0bc6da4a31c6018f26481c8413584423a9659"}, /* mla_v_out/staged gfx942 */
    {"5f0eb31d047002c1", "66097e160f66c6a7f0f3c084ea9c30d1039158ed51e028a0cb08a9a191ca0ba8"}, /* mla_o_proj/mfma gfx942 */
    {"5f1850883b5ef888", "cbbc153f1d2af7c3c0b4d1234cc6d10606fbeacd3cbdba2f49c032c1e6c36bc0"}, /* mla_decode/sm90_many sm_90a */
    {"5f361586a8f8f0eb", "6d926853c208b61c26e49e2473f874933ca2ad62ef40b815477517070c30399b"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"5f3b22d46f04def1", "6a6ef66584c773576e07c6c1925d79659b08ac1c7162fdb12fa56b9fdf0ce611"},
      /* mla_decode/combine_early sm_90a */
    {"5f7af28d3e946da5", "a715dcdb5f52feeb6f0079786a77cc36463628efbc775408557307586c7a7ddb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"6042bacaa4c8805c", "388b1c7ead041926ba5580b0b9cb45997fa61bcd2db2b19f4599b79923c58233"}, /* mla_prefill/mma sm_90a */
    {"6069060a619de1ab", "532de510fb9558cd95cf4202768846e2d8d10530aacadc481a36b3bda08f7438"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"61f9b36d949ba918", "23fb60230864c019c82ff643aa8851d044ffd9db5342cd387215f57f7601df26"}, /* mla_qkv_a/dot sm_90a */
    {"61ff20c5f0e8af2d", "4e0d697e1f60e8eeb5ba29783d7d316b3a7fb1486da8bb332c6d29460d8c136b"}, /* mla_q_absorb/ring sm_90a */
    {"620618886468453b", "1757065e363eac1635ffd5bb2bdd33481031780a61d4bfac782cdb4f01135a73"}, /* mla_decode/combine_warp sm_90a */
    {"62570dbb844b4268", "66097e160f66c6a7f0f3c084ea9c30d1039158ed51e028a0cb08a9a191ca0ba8"}, /* mla_o_proj/mfma gfx942 */
    {"63001e2b95e24db3", "05f87ce0ecf64725291defa892f5c74106c4cf945ba54d8de8790fba33253b7e"}, /* mla_q_b/mfma gfx942 */
    {"6316dbad348b8575", "09de5d0cc90d07d318fdb97ead05c0b50603233372afb2a7ca5c1fab825fd725"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"63b5593d9c7a3257", "2256f91f8eaf74ab8257e51e59561ecdbacb358cc5f1a24f4850e731195bfa13"}, /* mla_qkv_a/staged gfx942 */
    {"6418dfb639448431", "7c383c69b2de8ddc1bf0e72ecca330a121d06e4a1fc96a51fe8afc5a8ffc2d9d"}, /* soak_compare sm_90a */
    {"64cd326f56dbcc1c", "a2b4bea8b98730855c7c2626749527f01dcd76dea2273a9a4ca8c2e58db35ae4"}, /* mla_gather_kv_b/mma sm_90a */
    {"6515a855e45d0fa7", "6facba9a6ebc2180b73c68f26a94fc35e5dc288b01bd2dfaebee5f0bcb0f2844"}, /* mla_v_out/mma sm_80 */
    {"655757e2b180b1a5", "d1cfc1e4166bbb03966b757b992803689a0fa329074dcd823a5c717a6aa4155d"}, /* mla_dequant/rows sm_80 */
    {"655ac98afb10a17f", "532de510fb9558cd95cf4202768846e2d8d10530aacadc481a36b3bda08f7438"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"66883fa318d31d96", "573edb96c564a07db0c02f369ad0d6659710f149b9f2be792524a9ae265061ce"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"66f8be4ab33c7cc8", "1e36ed0afa8fe3e2b6008e4cea487f435108b6f039956e708b12bdc8a721e502"}, /* mla_q_scale/rows sm_90a */
    {"6730cfb350652cdb", "6d2b328d8ecb7bc6e66c1dce552b363bfe65d4a6996e927a4c1e57286b2a5646"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"6742b2dcb3f0718c", "d908af73d519041208bf9c45d0927af8abbefce343c50e27d903658f0986acf7"}, /* mla_v_out/dot gfx942 */
    {"680609c94a002177", "0a0e6971cfb1944a7c181d777bc0bc6da4a31c6018f26481c8413584423a9659"}, /* mla_v_out/staged gfx942 */
    {"685e272e784605b7", "66097e160f66c6a7f0f3c084ea9c30d1039158ed51e028a0cb08a9a191ca0ba8"}, /* mla_o_proj/mfma gfx942 */
    {"68659cd5dad97396", "0c315a3782c861a2684e7609abfe690307011de7ecd372eff8de7758136e18cd"}, /* mla_append/rows sm_90a */
    {"687b6f54fd547a97", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"687e6901ed9ea13e", "72645be6b7bc029c9e5d4a182f52c999189648768d07910217e9ed2c3286b882"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"6882f65f16c455c8", "4e0d697e1f60e8eeb5ba29783d7d316b3a7fb1486da8bb332c6d29460d8c136b"}, /* mla_q_absorb/ring sm_90a */
    {"688c6d3e16b33fcc", "6f3257eb4b328ea49e5cd6fd03b3c60353646fc8f6b5e09422845a5ff9144b62"}, /* index_lists sm_90a */
    {"6b7adc45386f02d2", "6dbeb7b66f6610d22a40188c54670c7643247c9349acdb3e4fcb4fe4c711d358"}, /* mla_qkv_a/stream sm_90a */
    {"6bff2e1d438aacd3", "0193718d77882a0992b54efdf849e8561e1c199c5b1644c4ffa7f3dd17052fdf"}, /* mla_gather_kv_b/mfma gfx950 */
    {"6c167320aaabe81d", "5c050fc21e631fbbc8e61e4ee1f83bff9880638cedd8093ac554034e83203d19"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"6c871082ff78fd39", "cba87a1dd7a64c6c8715fdd4fcc5aa9aa2c028199e027fa6376a7618a96f0a8a"}, /* mla_o_proj/mma sm_90a */
    {"6c8d6fdda1eb2d79", "4081dcb8cc411ed8f3b9acc3f44eb34cc562f9e0ef29f9f19b6d5b010a885dc0"}, /* mla_o_proj/dot sm_90a */
    {"6ca08f10d7bee181", "9ad0ffd1a7e94f796fbc734509881ba98842f09cc56594f6a2161d963ad151b2"}, /* mla_decode/mfma_lds gfx942 */
    {"6d7bda318c28d4db", "9b7350f253b22f15dc778f8b18e91af9250800af8e4567da51f53f347d53c8bd"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"6d7d9e07b8616d8c", "fd50652705a27c9dcdd099f7f9a5b013dc7e7871290eb3813c50d14423ea54f8"}, /* mla_decode/mma_cache sm_80 */
    {"6da1b95e0f465270", "32edb9280665c726eb20e9ae739a150050d3438c4ce9a39e511136649cf983bf"}, /* mla_decode/mma_rotate sm_80 */
    {"6dd9f8c6cebc185b", "4e0d697e1f60e8eeb5ba29783d7d316b3a7fb1486da8bb332c6d29460d8c136b"}, /* mla_q_absorb/ring sm_90a */
    {"6e19b1ae22409607", "54ca597a535835657ea717a393792b3ba905582fd9e11d3599f8743ec41adb13"}, /* mla_merge/rows sm_80 */
    {"6f4e417030598a53", "0d8c0ea030e4951ca8a61fc9c29729e392d11e2cef7a519f36e55e84a3a68961"}, /* mla_q_absorb/aside gfx942 */
    {"7024c3338026f869", "22d6afe17a5541c582746f3dfdcbfae6994b4a3497d4ecd7ea8f63ce5caabcd1"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"709ec78999875393", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"70aa0ae24d025775", "12ac08fd6823ffc9d1477ac4089533fbd79dfee0d485085c9082f7f4304435be"}, /* mla_v_out/ring_fp8 sm_90a */
    {"713de32a5f66e05c", "962fd6b491492b26fcf9566f1bd42cdab07d88d5da5e9f7b2f01d47626b77270"}, /* mla_q_absorb/walk sm_90a */
    {"71657ad6b467a1c5", "32f616377edecaa3c25d1639e0f7fa7d1e6e61ce9ed3f4521335ed392d4d1a09"}, /* mla_decode/mfma_reg gfx942 */
    {"7188ec6e7235fcb3", "9b7350f253b22f15dc778f8b18e91af9250800af8e4567da51f53f347d53c8bd"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"71f0c2dd25be2bde", "09de5d0cc90d07d318fdb97ead05c0b50603233372afb2a7ca5c1fab825fd725"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"722c77ac8f16d49d", "acf11eb4c09bfd7f81c50717ee0fdab072813097286507b3d656f33db2e18361"}, /* mla_prefill/mma_fp8 sm_89 */
    {"72aa5759fbe5577a", "6d926853c208b61c26e49e2473f874933ca2ad62ef40b815477517070c30399b"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"74004649bb7f497d", "573e4c7706a69ad8d22982b34d2ecb7dee53aa7277abd177845fd443df52da2c"}, /* mla_q_b/staged gfx942 */
    {"7461a09813e9dafd", "e50d0f398e2cd416ddfb7613f25aaa546cddcd9e58b61cd52192ffa4bf176813"}, /* mla_o_proj/stream sm_90a */
    {"74a591e6d0f2b7a4", "e5ee2fae956f69ef30175fee6e28f4c6972d38e670ab0cf63789556cdde37e53"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"7513a6f9f64e93f4", "ae7df522d7b0d1824bc03a51c2d0cf139a55ee8435ea65df075f7e2859b433b7"}, /* mla_merge/rows gfx942 */
    {"759fac03110f15e7", "21d0e385e84219b9ee648750239041828745bf557d2883c9888b231ac8a55674"}, /* mla_v_out/dot_fp8 sm_90a */
    {"767e47e6defdca91", "aafbd36910bbb7f9acc95104bed288d6e4438099bd298995140b5aa7952a79b3"}, /* mla_q_absorb/dot sm_90a */
    {"76a092d6a65012e0", "f81a5467b5d02607b73cec9e266175ea11f83f23c9909509cd5235ea8bad760c"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"77c36535c51c4fcf", "1757065e363eac1635ffd5bb2bdd33481031780a61d4bfac782cdb4f01135a73"}, /* mla_decode/combine_warp sm_90a */
    {"78257682019ec7da", "62064e783bde7133f68be96f912fe97d6dd89191d996bd90195b7342d72afe1f"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"7837067a3e3ffcb9", "962fd6b491492b26fcf9566f1bd42cdab07d88d5da5e9f7b2f01d47626b77270"}, /* mla_q_absorb/walk sm_90a */
    {"79e407498db95a54", "4081dcb8cc411ed8f3b9acc3f44eb34cc562f9e0ef29f9f19b6d5b010a885dc0"}, /* mla_o_proj/dot sm_90a */
    {"7abb1346e45e41d8", "50672d0339cb52ded21ebcbb55cf528552f6479d67da847d4e6a9b6190a48a6a"}, /* mla_q_b/mfma_append gfx942 */
    {"7d250586eb84213f", "94015211a1ee792d36a8f968e80edf5f92131a34543d304aaddf62b65acdb0ab"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"7dc3cf284f9a6888", "d883ce75eecdc7a19b7ed706148355eec48d8848561e2021e5fd8d93cbc220ba"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"7ddaa198d43c209e", "df4f872c4e5532a0c52dea1bc258e1a6a1efd420960b269c8fa319cbc257c9b5"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"7e3bc0453f8781a3", "23fb60230864c019c82ff643aa8851d044ffd9db5342cd387215f57f7601df26"}, /* mla_qkv_a/dot sm_90a */
    {"7e7d077b9982e025", "56ca7bbd00bd0031819e36990f8b5cfd1bc89e1967204d19677bf962cb3c5f70"}, /* mla_v_out/mfma gfx942 */
    {"7ee210ddf56e4a56", "267d9d06afab9810b9a4171b9f815efb32ea82636527a1d31b385d923dad5f6a"}, /* mla_append/rows gfx942 */
    {"7f1249ffe2009412", "87bacde037f84467bec83f0c20cdef9eb70b9d9173271f31c1832935ed8f02d5"},
      /* mla_decode/combine_values sm_90a */
    {"7f655c8c9a1463fa", "061c62dcf9d659fd6bd0701c1dbf4acb50ce1bc301d0dac26ab03a80b63338ec"}, /* mla_o_proj/dot gfx942 */
    {"801481663ba30b17", "df4f872c4e5532a0c52dea1bc258e1a6a1efd420960b269c8fa319cbc257c9b5"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"806092043f43ce9f", "d3e5a658ede3af7bb14beb172a6ff274344f13c89e376d8a70bd77d6000a6385"}, /* mla_qkv_a/mma sm_80 */
    {"80ded403cd42ce9c", "d1cfc1e4166bbb03966b757b992803689a0fa329074dcd823a5c717a6aa4155d"}, /* mla_dequant/rows sm_80 */
    {"813b0cebe61e2bb8", "f0033153ad965c99a743ff6a72714d4976603ae1ae3afc66bc8960fa6b9e5812"}, /* mla_q_b/dot gfx942 */
    {"82539b42edf2a9af", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"825481246183f227", "54ca597a535835657ea717a393792b3ba905582fd9e11d3599f8743ec41adb13"}, /* mla_merge/rows sm_80 */
    {"82dd5951ef3c629c", "88e27e0e2df726d0d3d0025a469c6092ccc2d0f9ba7744a3474c287da1ff49b6"}, /* mla_gather_kv_b/aside gfx942 */
    {"8364a77e80c5df52", "c85c347fd6cfa9204ae6915979736782ef06a91b6e08d625e478741440c33cce"}, /* mla_o_proj/mma sm_80 */
    {"84235f5896c5e5c3", "4e0d697e1f60e8eeb5ba29783d7d316b3a7fb1486da8bb332c6d29460d8c136b"}, /* mla_q_absorb/ring sm_90a */
    {"844bfa840f85bead", "962fd6b491492b26fcf9566f1bd42cdab07d88d5da5e9f7b2f01d47626b77270"}, /* mla_q_absorb/walk sm_90a */
    {"847a2dfb88035c90", "12ac08fd6823ffc9d1477ac4089533fbd79dfee0d485085c9082f7f4304435be"}, /* mla_v_out/ring_fp8 sm_90a */
    {"8495a7babd87320e", "1e36ed0afa8fe3e2b6008e4cea487f435108b6f039956e708b12bdc8a721e502"}, /* mla_q_scale/rows sm_90a */
    {"8552d3b817a589a7", "a715dcdb5f52feeb6f0079786a77cc36463628efbc775408557307586c7a7ddb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"857092da1807398b", "7e36a6698555a736a4c164f86d283304d14c8d0187b93d5d1783135cd30f87c7"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"85de3ce2ab0837b5", "d3e5a658ede3af7bb14beb172a6ff274344f13c89e376d8a70bd77d6000a6385"}, /* mla_qkv_a/mma sm_80 */
    {"864003d918f04380", "6a6ef66584c773576e07c6c1925d79659b08ac1c7162fdb12fa56b9fdf0ce611"},
      /* mla_decode/combine_early sm_90a */
    {"8671a60a46e2cd86", "06f1151bbc1c9586232116f2a2c9d6aa870f3ba3a54d73fbca658d1389c10558"}, /* mla_v_out/stream sm_90a */
    {"8759e730929887d4", "feceddbe795a43ae148f2516f4a0c9fad01f31545db9cbbb05666e6f5397b915"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"879d993ab977912a", "15b6358e0e9c9fdcd02f2d870918f47aabdc6bdc15a4f0cb1f183e0da822a433"}, /* mla_q_b/dot sm_90a */
    {"8846c78f7635a4bb", "8bee3090fba04d6633930ab3f1d2bcafe9e17c2e256387f936ab57849652c21c"}, /* soak_compare gfx942 */
    {"88d156531b26ea63", "0f1bd9e6ead45894a2ee24f95d5e41726a60211721238f67eba29639ccac783f"}, /* block_tables sm_90a */
    {"88e8ddc0bf1df79d", "d3e5a658ede3af7bb14beb172a6ff274344f13c89e376d8a70bd77d6000a6385"}, /* mla_qkv_a/mma sm_80 */
    {"895b48f66f759693", "1a26fa41ffe637c994e7a751fb4f21b946627c8fe95d3705af7aea7200443f01"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"89f1d7763379bf53", "2d6715d9a5c78c2ddd1135257d855e1dfd085b742b79dba60ad51f1dda1b64f9"}, /* mla_q_absorb/stay gfx942 */
    {"8a78d0e06f1b8c65", "0702f14a262707b2478e45c5b534a2194786067bbc0b069c3f91d104e2ea341f"}, /* mla_decode/sm90_mid sm_90a */
    {"8b5fa8ce92aa9d56", "1c7b512e799f360def11860ea7db97c9e07ca03ab5a0d7bfce2be702af20cfb9"}, /* mla_decode/mfma_reg gfx90a */
    {"8c2105be27cdb9a6", "8658df2331db27d5dd7ad2dda41fec5e7ae08e76ce2eecb342733dda4b1f1259"}, /* mla_v_out/stream_fp8 sm_90a */
    {"8cd0683652dadd62", "06996c4ccaf63ae7b07fa0c107c0bde0bb1422a810bc0870459c90cb4632d2e5"}, /* mla_q_b/mma_append sm_90a */
    {"8e05af6fe2f87d09", "60290826fa89360a349205180561cdcc614ec8debf5c4e75b0e1d1ccfb6b817c"}, /* mla_q_absorb/mfma gfx942 */
    {"8e2314abb7374c98", "ed139002c6ab1a1d671fc8a3a9c3818798a512682f6416b77bf16149ffa11706"},
      /* mla_decode/combine_wave_invariant gfx942 */
    {"8f214c918c590adf", "45b816884bf640bf8d3624cea61a5c1a168c6740bbbc72935ad10e66a5f7182d"}, /* mla_o_proj/staged gfx942 */
    {"8f296e5cb8fd93bb", "d908af73d519041208bf9c45d0927af8abbefce343c50e27d903658f0986acf7"}, /* mla_v_out/dot gfx942 */
    {"91a1c4d10938b106", "1a26fa41ffe637c994e7a751fb4f21b946627c8fe95d3705af7aea7200443f01"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"92bb31b52fe2edde", "6d2b328d8ecb7bc6e66c1dce552b363bfe65d4a6996e927a4c1e57286b2a5646"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"9348ee8eeb359d59", "0241ba101a483a8e309ba76614b87bf9fd5385a1cba7225aed88e45098af2d69"},
      /* mla_decode/mfma_reg_cache gfx90a */
    {"938a154e58268e3d", "1a26fa41ffe637c994e7a751fb4f21b946627c8fe95d3705af7aea7200443f01"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"938e8f915ab05853", "267d9d06afab9810b9a4171b9f815efb32ea82636527a1d31b385d923dad5f6a"}, /* mla_append/rows gfx942 */
    {"94301f3392537983", "8bee3090fba04d6633930ab3f1d2bcafe9e17c2e256387f936ab57849652c21c"}, /* soak_compare gfx942 */
    {"9555662c1c7885cc", "e89c78989b20c2938bb155d89dbe85fab0b0162b2064ae523dfbf58baca98f7c"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"956f66708f73d806", "0b7a4a4586db5b71d14e43497010b6224ebf1efc3ca7a6afd8729fc34f1c72df"}, /* mla_v_out/dot sm_90a */
    {"9661fc2d10fd646a", "0a0e6971cfb1944a7c181d777bc0bc6da4a31c6018f26481c8413584423a9659"}, /* mla_v_out/staged gfx942 */
    {"969f6735b316bbd1", "cbbc153f1d2af7c3c0b4d1234cc6d10606fbeacd3cbdba2f49c032c1e6c36bc0"}, /* mla_decode/sm90_many sm_90a */
    {"96ba63f2a9db33e7", "b90bd3a1a60e54dd9fb4e0120583c8e5034f19ce9e0df15c480a360a3776ca2a"}, /* mla_q_b/mma sm_90a */
    {"971540eebfbfb880", "57e8d1f70163dfb6ee1c41e8f86938d783066e28580dd90b54c96f940d794b3d"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"977460e087ca0396", "77de15eb296e1202750dfb25902090d3b2cc229b98679fadf584010bcc9872a9"}, /* mla_q_b/ring sm_90a */
    {"97c2f91e375d8cbf", "fe307bd21ac87fad57af79d1b69b80388d3e9f8b9cfad9d82fa1b8f9d43c61e0"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"986fba81527209b3", "23fb60230864c019c82ff643aa8851d044ffd9db5342cd387215f57f7601df26"}, /* mla_qkv_a/dot sm_90a */
    {"999444b93b421443", "65f9041ac34a3ab7e36b1ea8cb31a02863588464c0f831e4bb5e59609d317eb0"}, /* mla_decode/combine_wave gfx942 */
    {"9aa985e2e3c47340", "aafbd36910bbb7f9acc95104bed288d6e4438099bd298995140b5aa7952a79b3"}, /* mla_q_absorb/dot sm_90a */
    {"9b012a35a13f46d5", "77de15eb296e1202750dfb25902090d3b2cc229b98679fadf584010bcc9872a9"}, /* mla_q_b/ring sm_90a */
    {"9bc33e2a982098d6", "c85c347fd6cfa9204ae6915979736782ef06a91b6e08d625e478741440c33cce"}, /* mla_o_proj/mma sm_80 */
    {"9bf897a1a50e1774", "4643b343f64f01e790675931952535fc450d0787b605eccb453ec065bda334a9"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"9bfd03980d8e9678", "a46495f3664ee8a4fe55a2fefb86784e373629630e9df809b18d70c93cd998da"}, /* mla_dequant/rows sm_90a */
    {"9c2dc138e91b2992", "cd49b3674f0c7e679742db5040f78ff4f1b11e2c6d43252998466e3cc357116a"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"9c62a231ee56e2cd", "e5ee2fae956f69ef30175fee6e28f4c6972d38e670ab0cf63789556cdde37e53"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"9c9c76eab82d91e4", "1c7b512e799f360def11860ea7db97c9e07ca03ab5a0d7bfce2be702af20cfb9"}, /* mla_decode/mfma_reg gfx90a */
    {"9e417b363cb1d8ec", "41736b1568ec6f95ef0ec1e0f18f6e4052f1b35b05e94271298d5390d9a51e57"}, /* mla_v_out/mma_fp8 sm_80 */
    {"9f3871459b971efa", "56ca7bbd00bd0031819e36990f8b5cfd1bc89e1967204d19677bf962cb3c5f70"}, /* mla_v_out/mfma gfx942 */
    {"9fcbafc8a17e183a", "45b816884bf640bf8d3624cea61a5c1a168c6740bbbc72935ad10e66a5f7182d"}, /* mla_o_proj/staged gfx942 */
    {"a09e9a876811bebb", "1757065e363eac1635ffd5bb2bdd33481031780a61d4bfac782cdb4f01135a73"}, /* mla_decode/combine_warp sm_90a */
    {"a0e1eca774e2167b", "12ac08fd6823ffc9d1477ac4089533fbd79dfee0d485085c9082f7f4304435be"}, /* mla_v_out/ring_fp8 sm_90a */
    {"a12b30303d074e04", "31a2c5a5419efb1f9ee8980b3f89e35263bfec2d2b62f386e8a62109f6cebd96"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"a15594bed108b313", "20896c4cc1bf7a436a7419ad993fb10339a7e37f8e540fbc2616e3a4a496e4cc"}, /* mla_q_b/staged_append gfx942 */
    {"a1a6bd9620492fab", "6d1cb71460be196ebca8ae5e7cdb3ef2011f8344f5a34e7434af6790f64930b8"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"a21ff199eaf72f0c", "60290826fa89360a349205180561cdcc614ec8debf5c4e75b0e1d1ccfb6b817c"}, /* mla_q_absorb/mfma gfx942 */
    {"a2492383084e932b", "b90bd3a1a60e54dd9fb4e0120583c8e5034f19ce9e0df15c480a360a3776ca2a"}, /* mla_q_b/mma sm_90a */
    {"a2af323dd468df60", "72645be6b7bc029c9e5d4a182f52c999189648768d07910217e9ed2c3286b882"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"a2e4c907187f96cf", "a16461ec933b7c4add43a953e47555f2a2b02db459453f79a3c04123490bd68f"}, /* mla_qkv_a/mfma gfx942 */
    {"a3b6b7c69613e157", "5f7e0bdd079c89b05c4f955c9d8c1220bd42f6157c6b8d511c109e7b1618926c"}, /* mla_q_b/dot_append sm_90a */
    {"a48fd4f4b9163077", "4d71d7fd2595fc227b4475697a7c1886b892937f4ceb0a395eebe1c346623ef3"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"a4ecfda163039c4e", "2e38f39877325840eefba6bfee11b6135d349e987bc9dfcaacf9699e9cf1fab6"}, /* mla_q_b/stream sm_90a */
    {"a529308f0bc4374f", "cd49b3674f0c7e679742db5040f78ff4f1b11e2c6d43252998466e3cc357116a"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"a631d2d0c021b5f6", "89e2b2ad84fa43ab7aa1aaa53717becf6cf4b67bc716ecd1e7e93d52be4b5998"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"a6e84acfad96c50f", "56ca7bbd00bd0031819e36990f8b5cfd1bc89e1967204d19677bf962cb3c5f70"}, /* mla_v_out/mfma gfx942 */
    {"a71daace801b5798", "bfd1ec9e79aa16e00fe68a7790900554350488fae03a6c5e348bfb623d972f4a"}, /* mla_merge/rows sm_90a */
    {"a7d79925e193690f", "0702f14a262707b2478e45c5b534a2194786067bbc0b069c3f91d104e2ea341f"}, /* mla_decode/sm90_mid sm_90a */
    {"a8f8cf4e76253180", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"ab77397d475e608e", "cae65cbf6159cc54b4dbc14377105df3ad24cc91c5ebd806cff788a57cca52fc"}, /* read_ceiling sm_90a */
    {"ab800a2dbd6d0e50", "41736b1568ec6f95ef0ec1e0f18f6e4052f1b35b05e94271298d5390d9a51e57"}, /* mla_v_out/mma_fp8 sm_80 */
    {"ab99030509adb5e2", "20b56631feabfb0fa7f5c24c517433dd130d7d2ad269e5b67fa840f4d3abe1b2"}, /* mla_decode/mma_cache sm_90a */
    {"abfc776a26e53a9d", "3dabfdf891e7e570f872e7f4d1d067610eb712a1bd79b23e00240c8d07ac7101"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"ac3e2cf0ec4365ca", "05f87ce0ecf64725291defa892f5c74106c4cf945ba54d8de8790fba33253b7e"}, /* mla_q_b/mfma gfx942 */
    {"ac8b8966e293a69a", "c698f1ff3355683afc471a96c486ebf4cbb4f31c0c479ec0cb7587c0aa768a0b"}, /* mla_qkv_a/mma sm_90a */
    {"acfc4fd4694233f5", "9bf36941b9a1e459b088d35517873bdf9727ac3cb74e6480c3d5ff8d7d0aa696"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"ad19f746805fba93", "0702f14a262707b2478e45c5b534a2194786067bbc0b069c3f91d104e2ea341f"}, /* mla_decode/sm90_mid sm_90a */
    {"ad48640e3ac022a5", "6d926853c208b61c26e49e2473f874933ca2ad62ef40b815477517070c30399b"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"ad6b4d2ac89d19c9", "ae7df522d7b0d1824bc03a51c2d0cf139a55ee8435ea65df075f7e2859b433b7"}, /* mla_merge/rows gfx942 */
    {"adc5214e0e039a3a", "20896c4cc1bf7a436a7419ad993fb10339a7e37f8e540fbc2616e3a4a496e4cc"}, /* mla_q_b/staged_append gfx942 */
    {"ae1330de6946a643", "e35f4b1a5aceb195de33220a58f84f3a1cc404e0d36991e101927ee04115fb61"}, /* mla_prefill/mma sm_86 */
    {"aeb310e19c702567", "a715dcdb5f52feeb6f0079786a77cc36463628efbc775408557307586c7a7ddb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"afdd8eadfc3a69bd", "4f8ba32f2d539913a1f30fcef1b573361fb55dcbbfa93f6b6e47607c55a27fb9"}, /* mla_q_absorb/mma sm_80 */
    {"b149beb2f4017ff4", "aafbd36910bbb7f9acc95104bed288d6e4438099bd298995140b5aa7952a79b3"}, /* mla_q_absorb/dot sm_90a */
    {"b1561958ac08dc13", "061c62dcf9d659fd6bd0701c1dbf4acb50ce1bc301d0dac26ab03a80b63338ec"}, /* mla_o_proj/dot gfx942 */
    {"b1cf50520cde8c47", "5c61c7069e7ce5efc36a290cfef8f642d42bea8e242f06f7abaaedbd68d0390b"}, /* mla_q_b/mma sm_80 */
    {"b21a1c9a29656c29", "cbbc153f1d2af7c3c0b4d1234cc6d10606fbeacd3cbdba2f49c032c1e6c36bc0"}, /* mla_decode/sm90_many sm_90a */
    {"b27f2d87d753cd94", "1757065e363eac1635ffd5bb2bdd33481031780a61d4bfac782cdb4f01135a73"}, /* mla_decode/combine_warp sm_90a */
    {"b29f9821d8c0c7ec", "d883ce75eecdc7a19b7ed706148355eec48d8848561e2021e5fd8d93cbc220ba"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"b32a95f0f29397ce", "88e27e0e2df726d0d3d0025a469c6092ccc2d0f9ba7744a3474c287da1ff49b6"}, /* mla_gather_kv_b/aside gfx942 */
    {"b426da8a0f9dbec5", "0a0e6971cfb1944a7c181d777bc0bc6da4a31c6018f26481c8413584423a9659"}, /* mla_v_out/staged gfx942 */
    {"b5fd81e5c61fc235", "f1afedcfaffffab0b2521782f1b7db9229ed870120f4ac01f29252996d19b552"}, /* mla_gather_kv_b/mfma gfx90a */
    {"b623d1b7d4d2dba8", "12e5d67afa31e6a31265b3558f0f87c3f40282225e6c21ec00c083c9edd9fb64"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"b6b36a556e20b0aa", "f16f3774af8e7f0f58cc0525297ce748c76f3b59389e7e5d688e723627ffa155"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"b700fe35bd7bcce3", "f43ee0ccc1d25447682b8a9403e482325b6b1179aae051816db0e3e08bae65cf"}, /* mla_dequant/rows gfx942 */
    {"b743e9468e2dfc4d", "4643b343f64f01e790675931952535fc450d0787b605eccb453ec065bda334a9"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"b7e02e8677038e0a", "a16461ec933b7c4add43a953e47555f2a2b02db459453f79a3c04123490bd68f"}, /* mla_qkv_a/mfma gfx942 */
    {"b819c3fc55c5cb66", "2d6715d9a5c78c2ddd1135257d855e1dfd085b742b79dba60ad51f1dda1b64f9"}, /* mla_q_absorb/stay gfx942 */
    {"b8e1df8086884e7e", "4dee127400d8410ab8618657046b5373b62382f82ba51715c01a9f5d8d09148d"}, /* mla_v_out/ring sm_90a */
    {"b93851c31cfccd73", "f43ee0ccc1d25447682b8a9403e482325b6b1179aae051816db0e3e08bae65cf"}, /* mla_dequant/rows gfx942 */
    {"b959897e221ae472", "2abf6b7c974b6ca71c9d54551268b2dc2b539ef7466687b3d6a22e95d7d4f40c"}, /* mla_qkv_a/ring sm_90a */
    {"b9fd5ab84f14ca85", "09de5d0cc90d07d318fdb97ead05c0b50603233372afb2a7ca5c1fab825fd725"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"bbe7a78957724633", "b5546abc5c7d8e24fc6bb3b6c2a52e0c13562be92adb6c41d25a9cc6a257265c"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"bc81d517dfdb4e7a", "06996c4ccaf63ae7b07fa0c107c0bde0bb1422a810bc0870459c90cb4632d2e5"}, /* mla_q_b/mma_append sm_90a */
    {"bca4455dd9513827", "f5c652573bc7daee560ee0fd96efdedac8d812db6a122aff9a800d9fc886c528"}, /* mla_decode/mfma_reg gfx950 */
    {"bdd6924ebb60a765", "8658df2331db27d5dd7ad2dda41fec5e7ae08e76ce2eecb342733dda4b1f1259"}, /* mla_v_out/stream_fp8 sm_90a */
    {"be8ffb9ae2e2a544", "92e4ea93fa8f128ad0f1b4be9ef5aa42d977fcbe2e8aea7d3324fdc09eea054a"}, /* mla_qkv_a/dot gfx942 */
    {"beaa4ccc646b8464", "a4973133745cccdf03ba73a2d9988174d5f32c73154b0e5564039229cc8b437b"}, /* mla_decode/mma sm_80 */
    {"bf6063f8feb8e3a4", "2256f91f8eaf74ab8257e51e59561ecdbacb358cc5f1a24f4850e731195bfa13"}, /* mla_qkv_a/staged gfx942 */
    {"c08bc396b464ef4a", "6492fa35c586fcfbc687209df2dce2776964ef59b3ddd7f1c95c9d168b4ab9a1"}, /* mla_prefill/mfma_asm gfx942 */
    {"c09735b7730a2983", "b5546abc5c7d8e24fc6bb3b6c2a52e0c13562be92adb6c41d25a9cc6a257265c"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"c0f8b61afcd80638", "9b7350f253b22f15dc778f8b18e91af9250800af8e4567da51f53f347d53c8bd"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"c213cd1735148efd", "4b6ced7b3ba13d7de52861f30b2943e2526e9601b08d35ae5d153bf21cbf1c66"},
      /* mla_decode/combine_mixed sm_90a */
    {"c2b085332487e473", "a4973133745cccdf03ba73a2d9988174d5f32c73154b0e5564039229cc8b437b"}, /* mla_decode/mma sm_80 */
    {"c33d04aa5fe734c3", "d1b6999f1e51df85dd70acc9f8377a00a128a991ff40970bcc0c241091146c1a"}, /* mla_gather_kv_b/mfma gfx942 */
    {"c3429ca9d75093ec", "5c61c7069e7ce5efc36a290cfef8f642d42bea8e242f06f7abaaedbd68d0390b"}, /* mla_q_b/mma sm_80 */
    {"c36bcd1ea540ef06", "1f8628cf6c7451a1c5de96fa11a2be24f02560fee09ef5549865296d42d0cb23"}, /* mla_v_out/wide_fp8 sm_90a */
    {"c397823d2ef1154f", "4dee127400d8410ab8618657046b5373b62382f82ba51715c01a9f5d8d09148d"}, /* mla_v_out/ring sm_90a */
    {"c42f0d135432acfb", "a940949bf9c0441eab041998fbd82819aee79ec305433a4361b5cc1aba3c83d6"}, /* mla_append/rows sm_80 */
    {"c46d3c1bda881613", "6492fa35c586fcfbc687209df2dce2776964ef59b3ddd7f1c95c9d168b4ab9a1"}, /* mla_prefill/mfma_asm gfx942 */
    {"c4ada4dbac54709c", "2256f91f8eaf74ab8257e51e59561ecdbacb358cc5f1a24f4850e731195bfa13"}, /* mla_qkv_a/staged gfx942 */
    {"c5f3d2cb92561ae1", "c698f1ff3355683afc471a96c486ebf4cbb4f31c0c479ec0cb7587c0aa768a0b"}, /* mla_qkv_a/mma sm_90a */
    {"c61cc9f453be4427", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"c64160f818f20bc3", "f2f54cda386e669b3af0cb209709fc0d2f6ed6aefc44eaa32b1ec2fae9bac3f1"}, /* mla_gather_kv_b/aside sm_90a */
    {"c6a29b6d9c3cee28", "573edb96c564a07db0c02f369ad0d6659710f149b9f2be792524a9ae265061ce"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"c7e309359e95d7ab", "408c5976d70a66b41db3edc6801976c86e5b64977f4e6aa4b74f78ab281cf9f9"}, /* mla_q_absorb/mma sm_90a */
    {"c9afeb7cfc83ef2c", "b3647cd2f5662e428d3829d59145a4e5c0524bcd4768e2d6faab1a269fa1928e"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"ca3b8777e995ab00", "4dee127400d8410ab8618657046b5373b62382f82ba51715c01a9f5d8d09148d"}, /* mla_v_out/ring sm_90a */
    {"cb0b99a921cf7ece", "6d926853c208b61c26e49e2473f874933ca2ad62ef40b815477517070c30399b"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"cb0c95e0efb16b7b", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"cbbfe15fc866d9d1", "97217a77154e74028fa29c931ee9c5a824b06ee2d0cd57b8ba0937c74c705020"}, /* mla_v_out/mma sm_90a */
    {"cc3ee5ae71a792ca", "2e38f39877325840eefba6bfee11b6135d349e987bc9dfcaacf9699e9cf1fab6"}, /* mla_q_b/stream sm_90a */
    {"cc79d5511430877c", "0c315a3782c861a2684e7609abfe690307011de7ecd372eff8de7758136e18cd"}, /* mla_append/rows sm_90a */
    {"ccf5e35f481808cb", "c85c347fd6cfa9204ae6915979736782ef06a91b6e08d625e478741440c33cce"}, /* mla_o_proj/mma sm_80 */
    {"cd10c0438631488c", "f81a5467b5d02607b73cec9e266175ea11f83f23c9909509cd5235ea8bad760c"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"cd902e5bbd581aae", "09c4aebb9006814a0d70c280fcfe65c707b3728a5ea3216a5c640bf17fd534f9"},
      /* mla_decode/mfma_reg_cache gfx942 */
    {"cdc0fe067299937a", "e63bf01e07025e26915e00349ef9a0a1dbd1ac134495892bd9edfdbed984c264"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"cdd5cbbf85eda0ca", "4dee127400d8410ab8618657046b5373b62382f82ba51715c01a9f5d8d09148d"}, /* mla_v_out/ring sm_90a */
    {"cde7285a424254f8", "0b7a4a4586db5b71d14e43497010b6224ebf1efc3ca7a6afd8729fc34f1c72df"}, /* mla_v_out/dot sm_90a */
    {"ce3e40f3d1fa2a51", "15b6358e0e9c9fdcd02f2d870918f47aabdc6bdc15a4f0cb1f183e0da822a433"}, /* mla_q_b/dot sm_90a */
    {"ce9a8c634a206a9a", "b90bd3a1a60e54dd9fb4e0120583c8e5034f19ce9e0df15c480a360a3776ca2a"}, /* mla_q_b/mma sm_90a */
    {"cf30f271fdd0687d", "97217a77154e74028fa29c931ee9c5a824b06ee2d0cd57b8ba0937c74c705020"}, /* mla_v_out/mma sm_90a */
    {"d13efa6abd3d3c6e", "32f616377edecaa3c25d1639e0f7fa7d1e6e61ce9ed3f4521335ed392d4d1a09"}, /* mla_decode/mfma_reg gfx942 */
    {"d1e7ebab851653d0", "94015211a1ee792d36a8f968e80edf5f92131a34543d304aaddf62b65acdb0ab"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"d232da02ec8d7a98", "4081dcb8cc411ed8f3b9acc3f44eb34cc562f9e0ef29f9f19b6d5b010a885dc0"}, /* mla_o_proj/dot sm_90a */
    {"d25d9c7df18f490f", "22d6afe17a5541c582746f3dfdcbfae6994b4a3497d4ecd7ea8f63ce5caabcd1"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d294d16ccf883909", "5aed77cbed6293579381f93172cd5e5fe1aa8ebebae25738c36f025d9441776e"}, /* mla_q_b/stream_append sm_90a */
    {"d2c29f83f87fee98", "22d6afe17a5541c582746f3dfdcbfae6994b4a3497d4ecd7ea8f63ce5caabcd1"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d3172dcda4937dbc", "45b816884bf640bf8d3624cea61a5c1a168c6740bbbc72935ad10e66a5f7182d"}, /* mla_o_proj/staged gfx942 */
    {"d4d98376ebb0e13a", "97217a77154e74028fa29c931ee9c5a824b06ee2d0cd57b8ba0937c74c705020"}, /* mla_v_out/mma sm_90a */
    {"d56630605a142e3b", "50672d0339cb52ded21ebcbb55cf528552f6479d67da847d4e6a9b6190a48a6a"}, /* mla_q_b/mfma_append gfx942 */
    {"d59d76204ac08483", "5aed77cbed6293579381f93172cd5e5fe1aa8ebebae25738c36f025d9441776e"}, /* mla_q_b/stream_append sm_90a */
    {"d63e11282cd1c7f3", "20b56631feabfb0fa7f5c24c517433dd130d7d2ad269e5b67fa840f4d3abe1b2"}, /* mla_decode/mma_cache sm_90a */
    {"d8af74c2ed88d78a", "16fa6ea59c0bed1e26c99595221976b8708aae3b431bc9c00409ee1ae8c0c08d"}, /* block_tables gfx942 */
    {"d96a4ce34a3c862e", "31a2c5a5419efb1f9ee8980b3f89e35263bfec2d2b62f386e8a62109f6cebd96"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"d9a9ddd947a4ad27", "fe307bd21ac87fad57af79d1b69b80388d3e9f8b9cfad9d82fa1b8f9d43c61e0"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"da2b9845f17c2209", "e5ee2fae956f69ef30175fee6e28f4c6972d38e670ab0cf63789556cdde37e53"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"dc3ab992b8f52a9a", "4b6ced7b3ba13d7de52861f30b2943e2526e9601b08d35ae5d153bf21cbf1c66"},
      /* mla_decode/combine_mixed sm_90a */
    {"dce33628c7241248", "f1afedcfaffffab0b2521782f1b7db9229ed870120f4ac01f29252996d19b552"}, /* mla_gather_kv_b/mfma gfx90a */
    {"dda3569535b90f07", "f0033153ad965c99a743ff6a72714d4976603ae1ae3afc66bc8960fa6b9e5812"}, /* mla_q_b/dot gfx942 */
    {"df4d6a75d60dd547", "3dabfdf891e7e570f872e7f4d1d067610eb712a1bd79b23e00240c8d07ac7101"}, /* mla_qkv_a/wide_fp8 sm_90a */
    {"df6fc2b84a4c703c", "b6fe2bf8388b9e101d51e326423b211899cc6dfc0e310b9bbe6008b0f04b8578"}, /* mla_o_proj/ring sm_90a */
    {"dfe7bc2806db7bd2", "2e38f39877325840eefba6bfee11b6135d349e987bc9dfcaacf9699e9cf1fab6"}, /* mla_q_b/stream sm_90a */
    {"e094f62348d5ee98", "cd49b3674f0c7e679742db5040f78ff4f1b11e2c6d43252998466e3cc357116a"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"e09dc0433f2995d9", "1a26fa41ffe637c994e7a751fb4f21b946627c8fe95d3705af7aea7200443f01"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"e129f9f27d91f9cf", "93c60847d39f192326b4a89de1858c086b650fd6b8077f3eb1cf5b8cb7521ca8"}, /* concat_keys sm_90a */
    {"e1b1a52cc34f2a48", "868f0e8996721a0a5fa3688f8fc1d213f550b9e8275aeb6390d204648a42a9ca"}, /* mla_q_b/dot_fp8 sm_90a */
    {"e1f35845e0591d1b", "b3647cd2f5662e428d3829d59145a4e5c0524bcd4768e2d6faab1a269fa1928e"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"e29b48d2a496dded", "e5ee2fae956f69ef30175fee6e28f4c6972d38e670ab0cf63789556cdde37e53"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"e36c0b142ce0220a", "77de15eb296e1202750dfb25902090d3b2cc229b98679fadf584010bcc9872a9"}, /* mla_q_b/ring sm_90a */
    {"e4007f8e6fcc75bb", "573edb96c564a07db0c02f369ad0d6659710f149b9f2be792524a9ae265061ce"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"e43f36a18f0f29f9", "a940949bf9c0441eab041998fbd82819aee79ec305433a4361b5cc1aba3c83d6"}, /* mla_append/rows sm_80 */
    {"e4e12da852d7ea57", "fe307bd21ac87fad57af79d1b69b80388d3e9f8b9cfad9d82fa1b8f9d43c61e0"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"e50173d02b7492e1", "d166632f905e73606c0872d8aa6f844dd142ba1169f86b7f711267e504a559f2"}, /* mla_q_absorb/dot gfx942 */
    {"e5a07cb9cf92db93", "65575f7329f1dcfa59cc59df90dd1cbee4f1214772c20fa81146834bc7d1a824"}, /* mla_prefill/mfma gfx942 */
    {"e6507ff3310c7382", "061c62dcf9d659fd6bd0701c1dbf4acb50ce1bc301d0dac26ab03a80b63338ec"}, /* mla_o_proj/dot gfx942 */
    {"e67e3cacd38f3349", "60290826fa89360a349205180561cdcc614ec8debf5c4e75b0e1d1ccfb6b817c"}, /* mla_q_absorb/mfma gfx942 */
    {"e6efa6cefdf37e00", "41736b1568ec6f95ef0ec1e0f18f6e4052f1b35b05e94271298d5390d9a51e57"}, /* mla_v_out/mma_fp8 sm_80 */
    {"e77f72e13a98b811", "0193718d77882a0992b54efdf849e8561e1c199c5b1644c4ffa7f3dd17052fdf"}, /* mla_gather_kv_b/mfma gfx950 */
    {"e8595552b2925149", "5c1eb1b99be6f578eb93c87dc69e19c6bb668833fe41fe585a2f7328a0b50197"}, /* mla_q_scale/rows gfx942 */
    {"e860c5ca17ab8a60", "27fc4a1b96e606ca636faa5bd7f428926265d51d98f8ff86182383a036ec3e1a"}, /* mla_q_b/ring_append sm_90a */
    {"e91a6b08ef6da509", "93c60847d39f192326b4a89de1858c086b650fd6b8077f3eb1cf5b8cb7521ca8"}, /* concat_keys sm_90a */
    {"e94b7ed6319322fe", "cbbc153f1d2af7c3c0b4d1234cc6d10606fbeacd3cbdba2f49c032c1e6c36bc0"}, /* mla_decode/sm90_many sm_90a */
    {"e9bc18543f6bc1be", "893a8279769ee8ee0a9ce23d8c76e86faa8a2f8959bd245aceecbeaa9f820d5c"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"ea7c7b4870086b48", "0977344f2929ac443635314ae0bff7c9070aad1e74b64978ca44404f60e1c7f6"}, /* mla_decode/mma sm_90a */
    {"eb5503cf2cf51a93", "4643b343f64f01e790675931952535fc450d0787b605eccb453ec065bda334a9"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"ece7b8b51660bd3a", "d166632f905e73606c0872d8aa6f844dd142ba1169f86b7f711267e504a559f2"}, /* mla_q_absorb/dot gfx942 */
    {"eda0723824ec859e", "a16461ec933b7c4add43a953e47555f2a2b02db459453f79a3c04123490bd68f"}, /* mla_qkv_a/mfma gfx942 */
    {"edd8c1b1a97ba061", "2d6715d9a5c78c2ddd1135257d855e1dfd085b742b79dba60ad51f1dda1b64f9"}, /* mla_q_absorb/stay gfx942 */
    {"ee501e583f85c0a9", "7e36a6698555a736a4c164f86d283304d14c8d0187b93d5d1783135cd30f87c7"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"ee52adb6a3393e38", "f16f3774af8e7f0f58cc0525297ce748c76f3b59389e7e5d688e723627ffa155"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"ee5f032eafa8f951", "16fa6ea59c0bed1e26c99595221976b8708aae3b431bc9c00409ee1ae8c0c08d"}, /* block_tables gfx942 */
    {"ee91589c9721178f", "06996c4ccaf63ae7b07fa0c107c0bde0bb1422a810bc0870459c90cb4632d2e5"}, /* mla_q_b/mma_append sm_90a */
    {"efb746d24d08c24d", "ec9a8206a753481634c45012c03e17038390b85a6311e31ab2e9d17faa726c6c"}, /* mla_q_b/stream_fp8 sm_90a */
    {"f05da81f2a1f35e1", "d36da41e7506ad8648300f8086173c3d3de5715a43b940b1fc28283fd0bb8536"}, /* mla_q_b/aside gfx942 */
    {"f09f115713353e05", "57e8d1f70163dfb6ee1c41e8f86938d783066e28580dd90b54c96f940d794b3d"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"f0ef6cebe888e271", "5f7e0bdd079c89b05c4f955c9d8c1220bd42f6157c6b8d511c109e7b1618926c"}, /* mla_q_b/dot_append sm_90a */
    {"f26f4404830ba1ee", "88e27e0e2df726d0d3d0025a469c6092ccc2d0f9ba7744a3474c287da1ff49b6"}, /* mla_gather_kv_b/aside gfx942 */
    {"f329356606a661c5", "2abf6b7c974b6ca71c9d54551268b2dc2b539ef7466687b3d6a22e95d7d4f40c"}, /* mla_qkv_a/ring sm_90a */
    {"f3f8b339390f92d6", "87bacde037f84467bec83f0c20cdef9eb70b9d9173271f31c1832935ed8f02d5"},
      /* mla_decode/combine_values sm_90a */
    {"f4c2437bdec1a2a7", "962fd6b491492b26fcf9566f1bd42cdab07d88d5da5e9f7b2f01d47626b77270"}, /* mla_q_absorb/walk sm_90a */
    {"f4debf9de656d0f6", "532de510fb9558cd95cf4202768846e2d8d10530aacadc481a36b3bda08f7438"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"f4e9327d0c2323a9", "41736b1568ec6f95ef0ec1e0f18f6e4052f1b35b05e94271298d5390d9a51e57"}, /* mla_v_out/mma_fp8 sm_80 */
    {"f56660e824a3b5b7", "05f87ce0ecf64725291defa892f5c74106c4cf945ba54d8de8790fba33253b7e"}, /* mla_q_b/mfma gfx942 */
    {"f695cbac4053a7e2", "72645be6b7bc029c9e5d4a182f52c999189648768d07910217e9ed2c3286b882"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"f6a28c889e8e6892", "5f7e0bdd079c89b05c4f955c9d8c1220bd42f6157c6b8d511c109e7b1618926c"}, /* mla_q_b/dot_append sm_90a */
    {"f6a2a0bb7da35eed", "e63bf01e07025e26915e00349ef9a0a1dbd1ac134495892bd9edfdbed984c264"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"f6ec20d4a70d28b0", "573e4c7706a69ad8d22982b34d2ecb7dee53aa7277abd177845fd443df52da2c"}, /* mla_q_b/staged gfx942 */
    {"f7b3c75ad2349334", "4090ddf46076897dc399fc2e10dce26f57480f5e5ff9df12ececa6a9da073ace"}, /* mla_q_b/mma_fp8 sm_90a */
    {"f80b0b3bf7b847a6", "26950d772c2ea6e8450dbdf47da7e258b5d90167eb1536082e9619a938b4819e"}, /* mla_q_b/ring_fp8 sm_90a */
    {"f83c1ce4924bf461", "e50d0f398e2cd416ddfb7613f25aaa546cddcd9e58b61cd52192ffa4bf176813"}, /* mla_o_proj/stream sm_90a */
    {"f87373c9516fbbcc", "32edb9280665c726eb20e9ae739a150050d3438c4ce9a39e511136649cf983bf"}, /* mla_decode/mma_rotate sm_80 */
    {"f9107de0a6e1c8c6", "a2b4bea8b98730855c7c2626749527f01dcd76dea2273a9a4ca8c2e58db35ae4"}, /* mla_gather_kv_b/mma sm_90a */
    {"f933f37e4cff485c", "54a2a7d3e298f06bd7905c6e79b92ceacdf22c0fc29c555f8cea7323cf2196fb"}, /* mla_o_proj/wide_fp8 sm_90a */
    {"f9d40e1e27a0ba48", "e89c78989b20c2938bb155d89dbe85fab0b0162b2064ae523dfbf58baca98f7c"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"fa7567379258e5ab", "061c62dcf9d659fd6bd0701c1dbf4acb50ce1bc301d0dac26ab03a80b63338ec"}, /* mla_o_proj/dot gfx942 */
    {"faf8f403fe6608d3", "57e8d1f70163dfb6ee1c41e8f86938d783066e28580dd90b54c96f940d794b3d"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fb131547c90c6319", "6facba9a6ebc2180b73c68f26a94fc35e5dc288b01bd2dfaebee5f0bcb0f2844"}, /* mla_v_out/mma sm_80 */
    {"fbcb8fa6b7ca3b32", "2abf6b7c974b6ca71c9d54551268b2dc2b539ef7466687b3d6a22e95d7d4f40c"}, /* mla_qkv_a/ring sm_90a */
    {"fc01a79c54ac561b", "d908af73d519041208bf9c45d0927af8abbefce343c50e27d903658f0986acf7"}, /* mla_v_out/dot gfx942 */
    {"fcea572119263be4", "6d2b328d8ecb7bc6e66c1dce552b363bfe65d4a6996e927a4c1e57286b2a5646"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"fd76828542943bfa", "89e2b2ad84fa43ab7aa1aaa53717becf6cf4b67bc716ecd1e7e93d52be4b5998"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"fda4bad61cc9fc3b", "57e8d1f70163dfb6ee1c41e8f86938d783066e28580dd90b54c96f940d794b3d"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fe1339afab641a22", "a4973133745cccdf03ba73a2d9988174d5f32c73154b0e5564039229cc8b437b"}, /* mla_decode/mma sm_80 */
    {"fe32902222c7f464", "7e36a6698555a736a4c164f86d283304d14c8d0187b93d5d1783135cd30f87c7"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"fec965e3184d8131", "5c61c7069e7ce5efc36a290cfef8f642d42bea8e242f06f7abaaedbd68d0390b"}, /* mla_q_b/mma sm_80 */
    {"fed5809399af3475", "861fe02e6c9a504c6a9e988e8e7931fdbd341e5aa33d3c419175023c335753c0"}, /* mla_prefill/mfma gfx950 */
    {"ff8507ae1ea47b7d", "cd49b3674f0c7e679742db5040f78ff4f1b11e2c6d43252998466e3cc357116a"}, /* mla_o_proj/mma_fp8 sm_90a */
};
const size_t mlaf_n_known_hashes = sizeof mlaf_known_hashes / sizeof *mlaf_known_hashes;
