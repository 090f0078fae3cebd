# SPDX-License-Identifier: Apache-2.0
# plugins/output/s3/local.mk - profiles as objects
if PLUGIN_OUTPUT_S3
pkglib_LTLIBRARIES += plugins/output_s3.la
endif
plugins_output_s3_la_SOURCES = plugins/output/s3/s3.c plugins/output/s3/answer.c plugins/output/s3/answer.h
plugins_output_s3_la_CFLAGS = $(AM_CFLAGS)
plugins_output_s3_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_s3_la_LIBADD = $(DELIVERY_LA)
