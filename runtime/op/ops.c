/* The operations of this build: the folders of runtime/ops, each of which defines mlaf_op_<its name>. */
#include "op/op.h"
#include "mlaf_ops.h"

#define DECLARE(name) extern const mlaf_op mlaf_op_##name;
MLAF_OPS(DECLARE)
#define REFER(name) &mlaf_op_##name,
const mlaf_op *const mlaf_ops_all[] = {MLAF_OPS(REFER) NULL};
