/* Made by tools/known-hashes.lua. Do not edit. */
#include "db/known_hashes.h"

const mlaf_known_hash mlaf_known_hashes[] = {
    {"002996cb062a4404", "cde7285a424254f8219d17af3334199a172757a64d2cd79cb62cc72848bd20ed"}, /* mla_v_out/dot sm_90a */
    {"017affbcc229867c", "f80b0b3bf7b847a63b0ed042b7f37b9a48f7cfa5d81984000f90d4fd7e0dc1d1"}, /* mla_q_b/ring_fp8 sm_90a */
    {"0180b680018f5e05", "1032eb98904ced0ffabc82bf82f359e36acf8b91e4e5d68b6e25626df565f3a0"}, /* mla_qkv_a/stream sm_90a */
    {"0240b5582b0c94b0", "eda0723824ec859e34cc949d3bb6fac5eb67838938f0b77f9679ba124518413c"}, /* mla_qkv_a/mfma gfx942 */
    {"02accdfde69cc31f", "4525759faa026781d9454646dc70bff0c793b236203682efb26fe4a9843fe487"}, /* mla_q_absorb/aside sm_90a */
    {"02b66463aea36021", "879d993ab977912a0df9fa8fa83a1f6c9411da3009b83042f19933e8486da977"}, /* mla_q_b/dot sm_90a */
    {"0392892df182e8ef", "be8ffb9ae2e2a544f5a465ddcf6760d7da7d0430df7275290969bf45fc0166b1"}, /* mla_qkv_a/dot gfx942 */
    {"0a716342774df22d", "89f1d7763379bf5339d16ef2d27e36008bd6333c1967a23ffe5501e29553fd36"}, /* mla_q_absorb/stay gfx942 */
    {"0b4e3499fe719061", "6f4e417030598a53bc4fad8feb680ae50ae6f06afb72831d04cd193f89d884ca"}, /* mla_q_absorb/aside gfx942 */
    {"0d4fcf8e1278bea3", "2636748d063f8cfb4c07c7cc10c83806019fa08386881e09b5801dfeea33b055"}, /* mla_q_b/mma_fp8 sm_90a */
    {"0f04903a38d4270c", "999444b93b421443d4e4a6380780b25f1409777e621cacaa958de06b0af307ac"}, /* mla_decode/combine_wave gfx942 */
    {"10d1b6e758cd7d12", "17933c3339f4c775e5d32c200e51c3dea002c1bfcf44f2d78ea04bf7e9be72ab"},
      /* mla_decode/sm90_small_rank sm_90a */
    {"124103d29b91adf7", "5e4983454b2827ad83813f297f91d721d87ad97befa0dca00f1c4f5a1a0fca53"}, /* mla_o_proj/ring sm_90a */
    {"124d5f4d1e193150", "c7e309359e95d7abd85a99b7030c73d7ddad5c72271746cbcff5dc68ab215183"}, /* mla_q_absorb/mma sm_90a */
    {"152bef3a1df0c1d9", "b743e9468e2dfc4d973f024b247950f86882f3945c0964fa83c1b0d18e6ffac0"},
      /* mla_decode/sm90_few_rotate sm_90a */
    {"1693b638a52c50c1", "857092da1807398b8a23b85c21478cea89b4f90fa09d1db7ac69a6dda27de56e"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"17bad060b4cafc04", "d294d16ccf883909681ef08f2517897fea0853410495a88cbd348d40b9a7fa5f"}, /* mla_q_b/stream_append sm_90a */
    {"1c5116de79f792f4", "8e2314abb7374c98e6dd25f27ba4297ba47a00785558b3820fda14c1d9b38a23"},
      /* mla_decode/combine_wave_invariant gfx942 */
    {"1c6f3fdfd0571626", "c9afeb7cfc83ef2cd9a5799bff10889f9813565fd4f02d315ca7582ee8c8123b"},
      /* mla_decode/sm90_mid_gather sm_90a */
    {"1f7c88343551ecac", "278a135ace614028676edc4ce50ae8911c61c877e8f0789458f42c53b62b667b"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"20b96f79c58f6588", "722c77ac8f16d49d9b006c9bc37673fb402f27698e00547e8bacd65d76b0945d"}, /* mla_prefill/mma_fp8 sm_89 */
    {"214aa75e4e9a90e8", "5f7af28d3e946da54e5dc27df36d89c1e9a55cfc87d8f54376abde971ed0dfeb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"222d69e6ccc6b7bc", "6ca08f10d7bee18146bf6ec1f20c26e9bf59161d8af1d64dab88cb9805268f7f"}, /* mla_decode/mfma_lds gfx942 */
    {"2323b7bdde0c2738", "2636748d063f8cfb4c07c7cc10c83806019fa08386881e09b5801dfeea33b055"}, /* mla_q_b/mma_fp8 sm_90a */
    {"233529f1fccec677", "7d250586eb84213fcf43e43c1952b059e26b787b028459d88ef963ffd43a2a6d"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"2615e6e1dfe6bb97", "f83c1ce4924bf4616d578d18a9adadf7ae850261e0c0d2be3f44687d3e7f8dee"}, /* mla_o_proj/stream sm_90a */
    {"26ea11888539f4ab", "2dded909b31163e205ead1a118a6bc3d64d31083934b9aa56f9840b7f0f4f1e6"}, /* mla_q_b/ring_append sm_90a */
    {"27974a4ef116b9ca", "7d250586eb84213fcf43e43c1952b059e26b787b028459d88ef963ffd43a2a6d"}, /* mla_qkv_a/ring_fp8 sm_90a */
    {"2b0f58654166561c", "8364a77e80c5df52cdbdeeb367f2d2b78f61f37d2ee94663b06d8b476b91f4f5"}, /* mla_o_proj/mma sm_80 */
    {"2b350b48e1af7fd0", "55956f100523f84db8ca916d8c40170c730239f3c9a17b21214de8e51ff3e046"}, /* mla_prefill/mma_fp8 sm_90a */
    {"2cf57293ee7ac1fd", "2f84a328bbb2af09b0f0934a7fbeafec37931e9fcea1ae0b778c1adcefd7b457"}, /* mla_q_b/dot_fp8 sm_90a */
    {"2d52e6432622dddd", "a1a6bd9620492fabbb08ec02ddc55921df5be6b9b1d5e1b2cf7d1879eef74e47"}, /* mla_prefill/mfma_fp8 gfx950 */
    {"2f21c6efa0126721", "278a135ace614028676edc4ce50ae8911c61c877e8f0789458f42c53b62b667b"}, /* mla_q_absorb/mma_fp8 sm_90a */
    {"300005868dcf6199", "50b8dd8522e4f88d2d4532e861b3439ed1992099bbbf6637835be0ea8f8efb32"}, /* mla_gather_kv_b/mfma gfx942 */
    {"30b789a2587e7aec", "1fb0c4c79d126e72cf39d0419e514cc4a59f42ddb2a18512d67e3eb3301a4b46"}, /* mla_q_absorb/dot gfx942 */
    {"32025315f5d512e7", "24890a82b3314e99de59b1810613784a543dd5a090d10e9a708d1eb2e9203a65"}, /* mla_v_out/stream sm_90a */
    {"326ca7b3f2cd22bd", "021a651004f6432150dcd32d3b8915a85908f01c4d62926e0d6a3b698facbfbf"}, /* read_ceiling gfx942 */
    {"32bd5eb631409861", "3387aedfd1a3c546a7e02a38b814db602e5de3939d7da5dd68696332f91389b9"}, /* mla_q_absorb/mma sm_80 */
    {"338899771c926bb5", "f05da81f2a1f35e13c68261743f7f3583be0126be8d22071be934084a955cf65"}, /* mla_q_b/aside gfx942 */
    {"3493f904afe3548f", "8f214c918c590adfd28c8796c6307c7bab77afd64cccb154fbaa991c6258e961"}, /* mla_o_proj/staged gfx942 */
    {"36995eb5935f7a10", "0e2a6d59b74ede44065feedc296b2b42f955cd2d313408bfb1b3f27225f4d9a0"}, /* mla_v_out/dot_fp8 sm_90a */
    {"38787690d9481f76", "d4d98376ebb0e13a7decf13b080dc26b6092d08740ce85dc73d961ebb05ce674"}, /* mla_v_out/mma sm_90a */
    {"388cc637fa03bc11", "2bce608d0db9ab7493ff3439e46587112c6eebc25812444f16c0e5f0a49c4732"}, /* mla_q_b/aside sm_90a */
    {"3b44287253edb0dc", "0e8ae991bf5b72f3fb840903a74b39de95e395956d6048f0e9889b63308f8a70"}, /* mla_v_out/mma sm_80 */
    {"3bb00d178e62def6", "acfc4fd4694233f55c48831a85ad3008b14f707d21d00457a88179a39ad47115"},
      /* mla_decode/combine_warp_invariant sm_90a */
    {"3d37efd7886df631", "4304322d37e36a406461ab58da3821731ccffb56b6187af3d6dadb8055c941dd"}, /* mla_gather_kv_b/aside sm_90a */
    {"3ef2f7a9b79c66af", "847a2dfb88035c90b633140673f3185e52064ad84dfbc4bbaa861a1a09c8d5d1"}, /* mla_v_out/ring_fp8 sm_90a */
    {"3fe8e49baa613223", "4688f8af6acfb47a31a6a38e6038931c529dc2efa186943aaf19e2fa158cc3a8"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"410726ea7b6bfd7a", "1032eb98904ced0ffabc82bf82f359e36acf8b91e4e5d68b6e25626df565f3a0"}, /* mla_qkv_a/stream sm_90a */
    {"421af555c8555a0b", "924be2de32f3ab64415ceb142f1a27e87412995710ad23e533ae301e5adb3c2b"}, /* mla_decode/mfma_reg gfx950 */
    {"42b5d3895244ce0f", "be8ffb9ae2e2a544f5a465ddcf6760d7da7d0430df7275290969bf45fc0166b1"}, /* mla_qkv_a/dot gfx942 */
    {"431c6b315b71458b", "9a90d2d50d96031cdda9224692dc3b11bc9de98e3838d94af721e0cb2675aca8"}, /* mla_decode/sm90_few sm_90a */
    {"434b918acd7cc0bb", "6742b2dcb3f0718cdc85a37d130dc9413f734f961f97fcb75d9523beca39089f"}, /* mla_v_out/dot gfx942 */
    {"43ab539cf042cf4b", "dda3569535b90f07957a54282d9267c90d45b88265d44d8c481a5cb279597bb1"}, /* mla_q_b/dot gfx942 */
    {"4423dd8ed7e95c52", "3ec5e4aad7e2cf21632d6fdc421c8d505fe070ff6af31bd813c9d22b4de171f5"}, /* mla_q_absorb/stream sm_90a */
    {"44c4a1901777f43b", "26cd093462e3d8913e022fda0a96190e6ca1248fc0be7f6ac5020d10c89ed11f"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"44f1a5ffa0dceb8b", "4f45ed073002d22996a813651f2aa866993acaab795b74b4c3275a39340a2eb7"}, /* mla_o_proj/mma sm_90a */
    {"46738ec6ead489fa", "4fae61dbb67cf1e75c8f8ec4f75119e93f35ba16ac3087ebc82cb4bbc5c28f83"}, /* mla_gather_kv_b/sm90 sm_90a */
    {"483ba79cb9824930", "806092043f43ce9f876651cf2fca14321cf67027d0562e583272808fea368ae5"}, /* mla_qkv_a/mma sm_80 */
    {"488a2cf5ee6054e1", "2e6c98e9ff457d2234aa49d58c78462b741b6553b2ef6418696c7522a8d97191"}, /* mla_gather_kv_b/mma sm_80 */
    {"4a209c1c1cc4633d", "e8595552b29251499331b67bba477153d7f987dff6f00ea5e88ad05191a97156"}, /* mla_q_scale/rows gfx942 */
    {"4a24dc6c5db91e61", "1a411de1af9f59e83252fedd543107db91fcbed9d3d74985bb3d54f82e6aa795"}, /* mla_prefill/mma sm_90a */
    {"4bc779bbfb4a8adb", "18120d6e3c8b31e29f1f368b6b1eb07143c1c687dcd22396d637e001bbb26508"}, /* mla_qkv_a/stream_fp8 sm_90a */
    {"4db92c53c47c33a2", "4c449798b7f064e858c8887f7f9e5655eacf77a20dfe14ce76be2bb5673daf1c"}, /* mla_prefill/sm90 sm_90a */
    {"4f1693de56b369af", "576551df5696a9a0f8bdcfac4ea317b9c02f7def83e56295444312d983418fbc"},
      /* mla_prefill/mma_invariant sm_90a */
    {"508f8bd39d0aa3d2", "3ec5e4aad7e2cf21632d6fdc421c8d505fe070ff6af31bd813c9d22b4de171f5"}, /* mla_q_absorb/stream sm_90a */
    {"50d31c6fd9baa7ea", "f329356606a661c55f8e572b6ca5eaeb84bf83bd990626d380e8bd63f91d1510"}, /* mla_qkv_a/ring sm_90a */
    {"518e4471bff1f45a", "cde7285a424254f8219d17af3334199a172757a64d2cd79cb62cc72848bd20ed"}, /* mla_v_out/dot sm_90a */
    {"51e8e260ed48722d", "c7e309359e95d7abd85a99b7030c73d7ddad5c72271746cbcff5dc68ab215183"}, /* mla_q_absorb/mma sm_90a */
    {"534cc794f84b0c00", "986fba81527209b3701c93ecb099d23c807bfac4aab0935cfafeecfa1721dede"}, /* mla_qkv_a/dot sm_90a */
    {"5515d5f8c3557370", "88d156531b26ea63ba976f97513184440b379145d05592177bcf8741750026a1"}, /* block_tables sm_90a */
    {"563edcd2a92fad24", "4ab451e74881bb36a320e26faeb141d305509c34e0ccd8d377f06b27a5747b14"}, /* mla_q_scale/rows sm_80 */
    {"581584064a354fa9", "c6a29b6d9c3cee2899721834e87cd4fe3983216d79777f47a4d3cad42d5ffb73"},
      /* mla_decode/sm90_many_rotate sm_90a */
    {"581df0bdcae64434", "92bb31b52fe2edded10790685b291546b7611c7f00425f04e91c935acbcdd218"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"592e7e7e616645ae", "6c167320aaabe81dade8136d0e70a8f510a3c7693d79da1797986799a87a8992"}, /* mla_prefill/sm90_fp8 sm_90a */
    {"5ba2ff28ac49f298", "26cd093462e3d8913e022fda0a96190e6ca1248fc0be7f6ac5020d10c89ed11f"}, /* mla_qkv_a/dot_fp8 gfx942 */
    {"5c67315b5bdbda22", "4f45ed073002d22996a813651f2aa866993acaab795b74b4c3275a39340a2eb7"}, /* mla_o_proj/mma sm_90a */
    {"5e40988626e209a2", "c09735b7730a2983c08798aee03eb746f3f2ed87c75dd86e21a8ad13ee3e3f36"}, /* mla_o_proj/stream_fp8 sm_90a */
    {"5f0eb31d047002c1", "62570dbb844b426828a75e6e731bf00ae4e77370c09c86cdd611c3b57daed6f2"}, /* mla_o_proj/mfma gfx942 */
    {"6042bacaa4c8805c", "1a411de1af9f59e83252fedd543107db91fcbed9d3d74985bb3d54f82e6aa795"}, /* mla_prefill/mma sm_90a */
    {"63b5593d9c7a3257", "2e7857ffc53732720b7cb7d4c4137d25e34cdf289ef9fcd35ff0f82b8d60ed1b"}, /* mla_qkv_a/staged gfx942 */
    {"6418dfb639448431", "08badd25596528c564b5a7bf24f1d9876eff229bc13af8babf7ad67de927cfec"}, /* soak_compare sm_90a */
    {"64cd326f56dbcc1c", "30f00476bda7734ff231f2c7e0116f6d39b1bc8b0a8587aa68f20ac681e8a1ee"}, /* mla_gather_kv_b/mma sm_90a */
    {"655757e2b180b1a5", "80ded403cd42ce9c3a7eb0e695f4076a4868f8eda5ecf162690fc152718a6f28"}, /* mla_dequant/rows sm_80 */
    {"655ac98afb10a17f", "6069060a619de1ab0a71b252950a81b0c1c2c2c96aa9064741425109dcea513f"},
      /* mla_decode/sm90_many_ahead sm_90a */
    {"6730cfb350652cdb", "92bb31b52fe2edded10790685b291546b7611c7f00425f04e91c935acbcdd218"}, /* mla_o_proj/mfma_fp8 gfx942 */
    {"685e272e784605b7", "62570dbb844b426828a75e6e731bf00ae4e77370c09c86cdd611c3b57daed6f2"}, /* mla_o_proj/mfma gfx942 */
    {"6bff2e1d438aacd3", "3d7c41da3c2c689ee7f344cdc2d9602c351a7c36da001484ba90fd2729428558"}, /* mla_gather_kv_b/mfma gfx950 */
    {"6da1b95e0f465270", "f87373c9516fbbcceb61f499b1df2d1dcb85f994fbb99cdad12b9bdc8b6b9e39"}, /* mla_decode/mma_rotate sm_80 */
    {"6dd9f8c6cebc185b", "6882f65f16c455c8b7ab7022b87a5fdc5ff2ac7c2d62ccf6a6688f07dfed05e8"}, /* mla_q_absorb/ring sm_90a */
    {"6e19b1ae22409607", "825481246183f227116e753808ef1175d59a23b6cca14b0fbce27a159b38b77b"}, /* mla_merge/rows sm_80 */
    {"71657ad6b467a1c5", "67038726fec36dc628577d71ea05e86a4875eb0bde6301f644df762369da0c0f"}, /* mla_decode/mfma_reg gfx942 */
    {"71f0c2dd25be2bde", "b9fd5ab84f14ca85c31e227f2f6aae04c9d4cd3ce6ecbbc12c382c9fe8c3785e"},
      /* mla_q_b/stream_fp8_append sm_90a */
    {"72aa5759fbe5577a", "ad48640e3ac022a54e82bdc80d410bbd060788bfb9254bb1ca7eaed5b91cd7c9"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"74004649bb7f497d", "f6ec20d4a70d28b0e3598da422b2d9fc6816bf6c90b160515702c6f46fe647f7"}, /* mla_q_b/staged gfx942 */
    {"7461a09813e9dafd", "f83c1ce4924bf4616d578d18a9adadf7ae850261e0c0d2be3f44687d3e7f8dee"}, /* mla_o_proj/stream sm_90a */
    {"74a591e6d0f2b7a4", "9c62a231ee56e2cdbff20527b581c86c00028764315e28f8fa17c3ff3001ec51"},
      /* mla_decode/sm90_many_gather sm_90a */
    {"7513a6f9f64e93f4", "ad6b4d2ac89d19c9400223b6b8f915eb5fd9c9f06c467c86f9a4ff95ecf31164"}, /* mla_merge/rows gfx942 */
    {"759fac03110f15e7", "0e2a6d59b74ede44065feedc296b2b42f955cd2d313408bfb1b3f27225f4d9a0"}, /* mla_v_out/dot_fp8 sm_90a */
    {"76a092d6a65012e0", "0783966d0b0829ef9f80553b6fa625340235e6150511b9b388c4bcdd5dfa61a6"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"7837067a3e3ffcb9", "f4c2437bdec1a2a778848c47030f7a8e08114881f776c273be1851e82df62697"}, /* mla_q_absorb/walk sm_90a */
    {"79e407498db95a54", "1bdc529c9c3ed776fac95c59d05aee370942bf3c5054100e7da7f890564c8c09"}, /* mla_o_proj/dot sm_90a */
    {"7abb1346e45e41d8", "d56630605a142e3b123d0240d948f2326a33498e087ab3b14f774b0c2eced2b6"}, /* mla_q_b/mfma_append gfx942 */
    {"7ddaa198d43c209e", "1f58124c6ff7f7c23eae6d7df2e8fcdd673424bb27eaf94d768697db52dc56a4"}, /* mla_q_b/mma_fp8_append sm_90a */
    {"7e3bc0453f8781a3", "986fba81527209b3701c93ecb099d23c807bfac4aab0935cfafeecfa1721dede"}, /* mla_qkv_a/dot sm_90a */
    {"7f655c8c9a1463fa", "b1561958ac08dc137ae9f606aa5816f6a8a0f6d0a87bc0a61f3bea19764b9879"}, /* mla_o_proj/dot gfx942 */
    {"82539b42edf2a9af", "709ec78999875393ba58dac088cb6ee635ed07bbffecaeef7ba81173ecd4a95a"}, /* mla_prefill/mma sm_86 */
    {"84235f5896c5e5c3", "6882f65f16c455c8b7ab7022b87a5fdc5ff2ac7c2d62ccf6a6688f07dfed05e8"}, /* mla_q_absorb/ring sm_90a */
    {"844bfa840f85bead", "f4c2437bdec1a2a778848c47030f7a8e08114881f776c273be1851e82df62697"}, /* mla_q_absorb/walk sm_90a */
    {"8495a7babd87320e", "66f8be4ab33c7cc8cb2d65be2bcd5b2bb28367dba558b9223a51ef0dc1fb8432"}, /* mla_q_scale/rows sm_90a */
    {"864003d918f04380", "5f3b22d46f04def18fe3f35bbf63181a2f5e53a33496375ac957860d102b59fc"},
      /* mla_decode/combine_early sm_90a */
    {"8671a60a46e2cd86", "24890a82b3314e99de59b1810613784a543dd5a090d10e9a708d1eb2e9203a65"}, /* mla_v_out/stream sm_90a */
    {"88e8ddc0bf1df79d", "806092043f43ce9f876651cf2fca14321cf67027d0562e583272808fea368ae5"}, /* mla_qkv_a/mma sm_80 */
    {"8b5fa8ce92aa9d56", "4d67b2f7e3fab863d115c12f793d0d391b5eb5a61c7073b7a43c8ef773a590b5"}, /* mla_decode/mfma_reg gfx90a */
    {"8c2105be27cdb9a6", "bdd6924ebb60a765d6fd843f49b465b70348198352d4bb0a041c47638eff0eb0"}, /* mla_v_out/stream_fp8 sm_90a */
    {"8cd0683652dadd62", "ee91589c9721178fb63124fec6c0da3c964220fbf6c22b9fc75983c3fb422344"}, /* mla_q_b/mma_append sm_90a */
    {"8e05af6fe2f87d09", "23455190dd08e62cd8bdca0f285b1248ef935027c12ec374453bb1de254fc1a5"}, /* mla_q_absorb/mfma gfx942 */
    {"8f296e5cb8fd93bb", "6742b2dcb3f0718cdc85a37d130dc9413f734f961f97fcb75d9523beca39089f"}, /* mla_v_out/dot gfx942 */
    {"91a1c4d10938b106", "e09dc0433f2995d918f9e8e0d660631a9b6fa523ae1b7ab2b661834b16e7f3f5"},
      /* mla_decode/sm90_few_ahead sm_90a */
    {"938e8f915ab05853", "466ee13d25cced4ef345601639c49d076a20c1aa385d1e796030903d0f17210f"}, /* mla_append/rows gfx942 */
    {"94301f3392537983", "8846c78f7635a4bbc15c1112fe21bdcbef2dfb61a4e158d3a1108ed147566383"}, /* soak_compare gfx942 */
    {"9661fc2d10fd646a", "5e95e61caa638de567cc3c27017031a0c6e8d848c671433095177f3f2dc93c83"}, /* mla_v_out/staged gfx942 */
    {"96ba63f2a9db33e7", "a2492383084e932bedd44b8917c1f591a55524d29a2a891a469b3a0dc6a782d7"}, /* mla_q_b/mma sm_90a */
    {"971540eebfbfb880", "fda4bad61cc9fc3b0f967b40fe795cea3162afb566792368b404594c984e7847"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"97c2f91e375d8cbf", "5c67ebc31b400ae38586ef70aa92ce2fa95d84ea5cf22357bd1e042acb57bffa"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"9aa985e2e3c47340", "5b7ee567c192eac46e989a8b50f28a7168275989fd380aebb4b34daf52382429"}, /* mla_q_absorb/dot sm_90a */
    {"9b012a35a13f46d5", "e36c0b142ce0220af74d2d1ab76e7d16c321e4bb588498b379a80b63e56ed3d9"}, /* mla_q_b/ring sm_90a */
    {"9bfd03980d8e9678", "268ca0c6443a6453d18ddccc971ac1d4767fbfcca647fdf9db21f55572896419"}, /* mla_dequant/rows sm_90a */
    {"9c9c76eab82d91e4", "4d67b2f7e3fab863d115c12f793d0d391b5eb5a61c7073b7a43c8ef773a590b5"}, /* mla_decode/mfma_reg gfx90a */
    {"9e417b363cb1d8ec", "f4e9327d0c2323a963494c5912f9038326e748d1e1ca0dcfce831d2821900a54"}, /* mla_v_out/mma_fp8 sm_80 */
    {"9f3871459b971efa", "7e7d077b9982e02598df5330f3bd53248708bebe8e6678ff74dbc31b4c2038d2"}, /* mla_v_out/mfma gfx942 */
    {"a09e9a876811bebb", "77c36535c51c4fcfe11de6039f7356939ffbce19cdb115ba3be2d055e9d8e805"}, /* mla_decode/combine_warp sm_90a */
    {"a0e1eca774e2167b", "847a2dfb88035c90b633140673f3185e52064ad84dfbc4bbaa861a1a09c8d5d1"}, /* mla_v_out/ring_fp8 sm_90a */
    {"a15594bed108b313", "adc5214e0e039a3a4deb41d53c3e6ef7e2d4626d19b649423c7c062269f2fd36"}, /* mla_q_b/staged_append gfx942 */
    {"a21ff199eaf72f0c", "23455190dd08e62cd8bdca0f285b1248ef935027c12ec374453bb1de254fc1a5"}, /* mla_q_absorb/mfma gfx942 */
    {"a48fd4f4b9163077", "33ffc18b6f7ab1d9f21bdeb9406cbb202e25518e5bc1760ff6e2214908ad6766"}, /* mla_q_b/ring_fp8_append sm_90a */
    {"a529308f0bc4374f", "ff8507ae1ea47b7d8b946b89196ec2759759010212f3455c01ce12d548b327d2"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"a6e84acfad96c50f", "7e7d077b9982e02598df5330f3bd53248708bebe8e6678ff74dbc31b4c2038d2"}, /* mla_v_out/mfma gfx942 */
    {"a71daace801b5798", "08b11b5748096b6c16ad7fb14d44ad152efc0df2b362833f026a9ed146bb90ed"}, /* mla_merge/rows sm_90a */
    {"a8f8cf4e76253180", "cb0c95e0efb16b7ba3bc4664042584fa4246cef0a63a0c79eb5b81d23637d04e"}, /* mla_prefill/mfma gfx950 */
    {"ab77397d475e608e", "06f67ddb3053191431bd4b3176a35089f507af918bb3c7f0e3471d12e5efb797"}, /* read_ceiling sm_90a */
    {"ac3e2cf0ec4365ca", "f56660e824a3b5b737e9b34a45e91f7c465050e8f2fc857e97cc79cf824f6981"}, /* mla_q_b/mfma gfx942 */
    {"ac8b8966e293a69a", "41c8cb744f3ffa8aa3c4671b8e48aa5b5ce453e4b370dfe6099733448fb23b9e"}, /* mla_qkv_a/mma sm_90a */
    {"ad19f746805fba93", "a7d79925e193690fa7c1d1aa65b7deaac9bb1df3ff7cb859b7b2668d77780dd7"}, /* mla_decode/sm90_mid sm_90a */
    {"ae1330de6946a643", "709ec78999875393ba58dac088cb6ee635ed07bbffecaeef7ba81173ecd4a95a"}, /* mla_prefill/mma sm_86 */
    {"aeb310e19c702567", "5f7af28d3e946da54e5dc27df36d89c1e9a55cfc87d8f54376abde971ed0dfeb"}, /* mla_q_absorb/dot_fp8 sm_90a */
    {"afdd8eadfc3a69bd", "3387aedfd1a3c546a7e02a38b814db602e5de3939d7da5dd68696332f91389b9"}, /* mla_q_absorb/mma sm_80 */
    {"b149beb2f4017ff4", "5b7ee567c192eac46e989a8b50f28a7168275989fd380aebb4b34daf52382429"}, /* mla_q_absorb/dot sm_90a */
    {"b1cf50520cde8c47", "12d1a04c0f40a3f69e797524e6dc58ac7a87bcdb15a13d44f32685ae796a61b3"}, /* mla_q_b/mma sm_80 */
    {"b29f9821d8c0c7ec", "7dc3cf284f9a68884563e12dfa48bb24f5c3a6fa31c36ccea1029cfd8f65b456"},
      /* mla_q_b/ring_absorb_append sm_90a */
    {"b32a95f0f29397ce", "82dd5951ef3c629c69e146c7e7c13f20eaeca01630a93f52c3c98aa5198b203e"}, /* mla_gather_kv_b/aside gfx942 */
    {"b426da8a0f9dbec5", "5e95e61caa638de567cc3c27017031a0c6e8d848c671433095177f3f2dc93c83"}, /* mla_v_out/staged gfx942 */
    {"b6b36a556e20b0aa", "4bac024c7d78cb0eeca932f2f1c64905afc9ba49f454d624918929962634d5be"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"b7e02e8677038e0a", "eda0723824ec859e34cc949d3bb6fac5eb67838938f0b77f9679ba124518413c"}, /* mla_qkv_a/mfma gfx942 */
    {"b8e1df8086884e7e", "c397823d2ef1154fbbe0160e62e598a131cb8421b4f0bc604e8a5509326121fa"}, /* mla_v_out/ring sm_90a */
    {"b93851c31cfccd73", "b700fe35bd7bcce310731703e28a807bb149a44d2c79edbdf75f1821cc6e649f"}, /* mla_dequant/rows gfx942 */
    {"bca4455dd9513827", "924be2de32f3ab64415ceb142f1a27e87412995710ad23e533ae301e5adb3c2b"}, /* mla_decode/mfma_reg gfx950 */
    {"c08bc396b464ef4a", "c46d3c1bda8816135e9ba12b6a8e1d9a0364238c5510b9ada9ff549db64f69d0"}, /* mla_prefill/mfma_asm gfx942 */
    {"c0f8b61afcd80638", "7188ec6e7235fcb326f3880b1f57b695c286a57b4c1731ce745663da06f355aa"}, /* mla_q_b/mfma_fp8 gfx942 */
    {"c42f0d135432acfb", "2a82f4ef0d1075e7605f4c5bc5b8b53aeeecc92e775e762be5ef9801fa5404fb"}, /* mla_append/rows sm_80 */
    {"c4ada4dbac54709c", "2e7857ffc53732720b7cb7d4c4137d25e34cdf289ef9fcd35ff0f82b8d60ed1b"}, /* mla_qkv_a/staged gfx942 */
    {"c5f3d2cb92561ae1", "41c8cb744f3ffa8aa3c4671b8e48aa5b5ce453e4b370dfe6099733448fb23b9e"}, /* mla_qkv_a/mma sm_90a */
    {"c61cc9f453be4427", "687b6f54fd547a978043405ab41a2afc5282f8b20dca8528bbc5510f0a08f226"}, /* mla_prefill/mfma gfx942 */
    {"cb0b99a921cf7ece", "ad48640e3ac022a54e82bdc80d410bbd060788bfb9254bb1ca7eaed5b91cd7c9"}, /* mla_q_absorb/mfma_fp8 gfx942 */
    {"cbbfe15fc866d9d1", "d4d98376ebb0e13a7decf13b080dc26b6092d08740ce85dc73d961ebb05ce674"}, /* mla_v_out/mma sm_90a */
    {"cc3ee5ae71a792ca", "dfe7bc2806db7bd2e724a87f083d7bcd6c6bc1a401e2408ab8c24e783d320f38"}, /* mla_q_b/stream sm_90a */
    {"cc79d5511430877c", "68659cd5dad9739674711a33fb8696b6c3b7aabc58bce6a54eed6461dc4c2db4"}, /* mla_append/rows sm_90a */
    {"ccf5e35f481808cb", "8364a77e80c5df52cdbdeeb367f2d2b78f61f37d2ee94663b06d8b476b91f4f5"}, /* mla_o_proj/mma sm_80 */
    {"cd10c0438631488c", "0783966d0b0829ef9f80553b6fa625340235e6150511b9b388c4bcdd5dfa61a6"},
      /* mla_q_absorb/stationary_fp8 sm_90a */
    {"cdc0fe067299937a", "d6bf1419e22879ec39dc704eebe3a07b90cb9c4324e5aae8a24d228165420b38"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"cdd5cbbf85eda0ca", "c397823d2ef1154fbbe0160e62e598a131cb8421b4f0bc604e8a5509326121fa"}, /* mla_v_out/ring sm_90a */
    {"d13efa6abd3d3c6e", "67038726fec36dc628577d71ea05e86a4875eb0bde6301f644df762369da0c0f"}, /* mla_decode/mfma_reg gfx942 */
    {"d232da02ec8d7a98", "1bdc529c9c3ed776fac95c59d05aee370942bf3c5054100e7da7f890564c8c09"}, /* mla_o_proj/dot sm_90a */
    {"d2c29f83f87fee98", "7024c3338026f86965852a135442d2725a360bf00f528b14954230bfe12d5563"}, /* mla_q_b/dot_fp8_append sm_90a */
    {"d3172dcda4937dbc", "8f214c918c590adfd28c8796c6307c7bab77afd64cccb154fbaa991c6258e961"}, /* mla_o_proj/staged gfx942 */
    {"d96a4ce34a3c862e", "193edb37cce5f8431b6a18f9332251680d12a686103193c22419ff831fc8db78"}, /* mla_q_absorb/stream_fp8 sm_90a */
    {"d9a9ddd947a4ad27", "5c67ebc31b400ae38586ef70aa92ce2fa95d84ea5cf22357bd1e042acb57bffa"}, /* mla_qkv_a/mfma_fp8 gfx942 */
    {"dc3ab992b8f52a9a", "1947b466bf6133d81a87a60f8a394e34f79c802819a964f10ea006eaae948c29"},
      /* mla_decode/combine_mixed sm_90a */
    {"dce33628c7241248", "55a071889cb1c73a00d65cd49a976af1327c8600a84d82b478d18e707ab374d1"}, /* mla_gather_kv_b/mfma gfx90a */
    {"df6fc2b84a4c703c", "5e4983454b2827ad83813f297f91d721d87ad97befa0dca00f1c4f5a1a0fca53"}, /* mla_o_proj/ring sm_90a */
    {"e094f62348d5ee98", "ff8507ae1ea47b7d8b946b89196ec2759759010212f3455c01ce12d548b327d2"}, /* mla_o_proj/mma_fp8 sm_90a */
    {"e5a07cb9cf92db93", "687b6f54fd547a978043405ab41a2afc5282f8b20dca8528bbc5510f0a08f226"}, /* mla_prefill/mfma gfx942 */
    {"e6efa6cefdf37e00", "f4e9327d0c2323a963494c5912f9038326e748d1e1ca0dcfce831d2821900a54"}, /* mla_v_out/mma_fp8 sm_80 */
    {"e91a6b08ef6da509", "e129f9f27d91f9cf28dcf7393298266360116dbf5ae338e81df07979221aa39f"}, /* concat_keys sm_90a */
    {"e94b7ed6319322fe", "5f1850883b5ef888cd57a80121a2aeebd6b0ecccefddbac2b4ebfac19bab344f"}, /* mla_decode/sm90_many sm_90a */
    {"e9bc18543f6bc1be", "1bdeef7653f66f403c4e33cc0be3e23a75429cb2346fa834dd8ca020a2684dfd"},
      /* mla_prefill/mfma_invariant gfx942 */
    {"ea7c7b4870086b48", "1cdfdc1bb30c0376b0adcc5af20a8e7d758397742f1373430922c514117f48d2"}, /* mla_decode/mma sm_90a */
    {"ece7b8b51660bd3a", "1fb0c4c79d126e72cf39d0419e514cc4a59f42ddb2a18512d67e3eb3301a4b46"}, /* mla_q_absorb/dot gfx942 */
    {"edd8c1b1a97ba061", "89f1d7763379bf5339d16ef2d27e36008bd6333c1967a23ffe5501e29553fd36"}, /* mla_q_absorb/stay gfx942 */
    {"ee52adb6a3393e38", "4bac024c7d78cb0eeca932f2f1c64905afc9ba49f454d624918929962634d5be"}, /* mla_v_out/mfma_fp8 gfx942 */
    {"ee5f032eafa8f951", "d8af74c2ed88d78ab0a5a4da3a8e1a7a675f05673dbd618232c57af924e17260"}, /* block_tables gfx942 */
    {"efb746d24d08c24d", "1e34c3c53d53a799844cb92fb1192bb72c5a12b76c2109a1099f56ea8a5ed5f9"}, /* mla_q_b/stream_fp8 sm_90a */
    {"f0ef6cebe888e271", "a3b6b7c69613e15759f70b4d7d72b7f06eb87fcfe14303518eaebb4b7361da81"}, /* mla_q_b/dot_append sm_90a */
    {"f3f8b339390f92d6", "28e277ca6b52ccac12defc73ca537f2d33dcec8e119a9ee44f7e29ab74fe0f80"},
      /* mla_decode/combine_values sm_90a */
    {"f695cbac4053a7e2", "687e6901ed9ea13eb6897fa729a3bfc25004d1f63274e24112f4276deecc5454"}, /* mla_q_b/mfma_fp8_append gfx942 */
    {"f6a28c889e8e6892", "a3b6b7c69613e15759f70b4d7d72b7f06eb87fcfe14303518eaebb4b7361da81"}, /* mla_q_b/dot_append sm_90a */
    {"f6a2a0bb7da35eed", "d6bf1419e22879ec39dc704eebe3a07b90cb9c4324e5aae8a24d228165420b38"},
      /* mla_decode/mfma_reg_rotate gfx942 */
    {"f9d40e1e27a0ba48", "9555662c1c7885cc7a0874811f9ceabb9382d3d2431b990ca8c43ef3c6eef38e"}, /* mla_prefill/mfma_fp8 gfx942 */
    {"fa7567379258e5ab", "b1561958ac08dc137ae9f606aa5816f6a8a0f6d0a87bc0a61f3bea19764b9879"}, /* mla_o_proj/dot gfx942 */
    {"faf8f403fe6608d3", "fda4bad61cc9fc3b0f967b40fe795cea3162afb566792368b404594c984e7847"}, /* mla_o_proj/dot_fp8 sm_90a */
    {"fb131547c90c6319", "0e8ae991bf5b72f3fb840903a74b39de95e395956d6048f0e9889b63308f8a70"}, /* mla_v_out/mma sm_80 */
    {"fbcb8fa6b7ca3b32", "f329356606a661c55f8e572b6ca5eaeb84bf83bd990626d380e8bd63f91d1510"}, /* mla_qkv_a/ring sm_90a */
    {"fd76828542943bfa", "4688f8af6acfb47a31a6a38e6038931c529dc2efa186943aaf19e2fa158cc3a8"}, /* mla_o_proj/ring_fp8 sm_90a */
    {"fe1339afab641a22", "beaa4ccc646b8464d4d4286b7c4f2c63db898cd770028858013b8e0990b7ea52"}, /* mla_decode/mma sm_80 */
    {"fe32902222c7f464", "857092da1807398b8a23b85c21478cea89b4f90fa09d1db7ac69a6dda27de56e"}, /* mla_qkv_a/mma_fp8 sm_90a */
    {"fec965e3184d8131", "12d1a04c0f40a3f69e797524e6dc58ac7a87bcdb15a13d44f32685ae796a61b3"}, /* mla_q_b/mma sm_80 */
    {"fed5809399af3475", "cb0c95e0efb16b7ba3bc4664042584fa4246cef0a63a0c79eb5b81d23637d04e"}, /* mla_prefill/mfma gfx950 */
};
const size_t mlaf_n_known_hashes = sizeof mlaf_known_hashes / sizeof *mlaf_known_hashes;
