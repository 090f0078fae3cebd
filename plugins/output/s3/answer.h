/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/s3/answer.h - what a server of objects means that did not take one
 *
 * It answers in XML: <Error><Code>NoSuchBucket</Code><Message>...</Message>...</Error>. That is anybody's bytes: what
 * cannot be read says nothing. What is wrong with the object itself stays wrong; all else (keys, the bucket, the clock, want
 * of patience) may be put right, whichever status it comes with, as S3 has 400 for much that is not the object's fault.
 *
 * Source: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. Any thread.
 */
#ifndef DECIMA_OUTPUT_S3_ANSWER_H
#define DECIMA_OUTPUT_S3_ANSWER_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/*
 * A delivery_judge_fn: -EAGAIN, or -EBADMSG when the same object would be refused again; appended are the code, the message
 * and what to do about it, as far as they are known.
 */
int s3_answer__judge(int status, struct dcm_str body, struct buf *ret_words);

#endif
