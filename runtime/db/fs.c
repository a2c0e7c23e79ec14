/* File systems by what they can do: WAL needs shared memory of one host, which no network file system has. */
#include <sys/statfs.h>

#include "db/db_internal.h"

static const struct {
  unsigned long magic;
  const char *name;
  bool local;
} known[] = {
    {0xEF53, "ext", true},          {0x58465342, "xfs", true},       {0x9123683E, "btrfs", true},
    {0x01021994, "tmpfs", true},    {0x794c7630, "overlay", true},   {0xF2F52010, "f2fs", true},
    {0x2FC12FC1, "zfs", true},      {0x858458F6, "ramfs", true},     {0xCA451A4E, "bcachefs", true},
    {0x6969, "NFS", false},         {0xFF534D42, "CIFS", false},     {0xFE534D42, "SMB2", false},
    {0x517B, "SMB", false},         {0x65735546, "FUSE", false},     {0x0BD00BD0, "Lustre", false},
    {0x47504653, "GPFS", false},    {0x00C36400, "Ceph", false},     {0x01161970, "GFS2", false},
    {0x7461636F, "OCFS2", false},   {0x5346414F, "AFS", false},      {0x6B414653, "AFS", false},
    {0x73757245, "Coda", false},    {0x01021997, "9P", false},       {0x19830326, "BeeGFS", false},
    {0xAAD7AAEA, "PanFS", false},   {0x786F4256, "VirtualBox shared folder", false},
    {0xBACBACBC, "VMware shared folder", false}, {0x6A656A63, "virtiofs", false},
};

const char *mlaf_db_fs_name(unsigned long magic, bool *local) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].magic == (magic & 0xffffffffu)) {
      *local = known[i].local;
      return known[i].name;
    }
  *local = false; /* a rollback journal works everywhere */
  return "an unknown file system";
}

static const char *fs_of(const char *dir, bool *local) {
  struct statfs fs;
  if (statfs(dir, &fs) == 0) return mlaf_db_fs_name((unsigned long)fs.f_type, local);
  *local = false;
  return "a file system that cannot be asked";
}

const char *(*mlaf_db_fs_of)(const char *dir, bool *local) = fs_of;
