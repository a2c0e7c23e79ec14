/* The work of a joint kernel. */
#include "op/joint_calls.h"

mlaf_work mlaf_joint_work(const mlaf_point *p, double on_chip) {
  const mlaf_joint *j = p->op->joint;
  mlaf_work work = j->first->work(p);
  for (int i = 0; i < j->n_parts; i++) {
    if (!mlaf_joint_has(p, i)) continue;
    const mlaf_point other = mlaf_joint_point(p, i);
    const mlaf_work more = other.op->calls->work(&other);
    work.bytes += more.bytes;
    work.flops += more.flops;
    if (j->parts[i].blocks) continue;
    work.bytes -= 2 * on_chip; /* neither written nor read */
    work.main_bytes += more.main_bytes;
  }
  return work;
}
