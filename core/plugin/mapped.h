/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/mapped.h - files in memory that may not end the process
 *
 * A page of a mapped file that the disk cannot give, or that was cut off the file, is a SIGBUS for
 * whoever touches it. For mappings made here a handler puts a page of zeroes in its place, and the
 * reader goes on: it must find by a checksum that these are not the file's bytes. Every other
 * SIGBUS goes where it went before.
 *
 * The handler is the process's, and so is the list that it looks through: the one state that this
 * folder has. It is installed with the first mapping and stays. It takes no lock and calls nothing
 * but mmap(2).
 *
 * Threads: any.
 */
#ifndef DECIMA_PLUGIN_MAPPED_H
#define DECIMA_PLUGIN_MAPPED_H

#include <stddef.h>
#include <stdint.h>

/* As dcm_host.map_file, unmap_file and n_lost_pages. */
int mapped__add(int fd, size_t n, const uint8_t **ret);
void mapped__remove(const uint8_t *p, size_t n);
uint64_t mapped__n_lost(void);

#endif
