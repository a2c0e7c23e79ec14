/* Records what a piece of code launches instead of launching it: to time a sequence that nobody has as a list, such as a whole
 * layer's. */
#pragma once

#include "device/device.h"

/* Launches own their parameters. All zero: empty. */
typedef struct mlaf_record {
  mlaf_launch *list;
  size_t n, room;
  mlaf_device *dev; /* NULL: not recording */
  const mlaf_device_ops *before;
  mlaf_device_ops ops; /* the device's while it records */
} mlaf_record;

/* From now on launches on the device go to the end of r->list; nothing runs. One recording a device at a time, and nobody else
 * may use the device meanwhile. All else (memory, tensor maps) works as before. */
void mlaf_record_begin(mlaf_device *dev, mlaf_record *r);
void mlaf_record_end(mlaf_record *r);
void mlaf_record_free(mlaf_record *r);
