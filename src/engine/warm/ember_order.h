/* Encodes a job as an order for an ember (engine/ember/ember_wire.h). */
#pragma once

#include "engine/job.h"
#include "engine/local/plan.h"

/* Whether an ember can put this file in place: only below writable directories, because it has a program's rights
 * then. */
bool order_takes(const struct job_file *file);

/* Sends the order over the ember's control socket; `forks`: the ember is an interpreter. ERROR_FAILED if the ember is
 * gone. */
int order_send(int socket, const struct job *job, bool forks, const struct plan *plan, struct error *err);
