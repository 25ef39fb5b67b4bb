/* A job as an order to an ember (engine/ember/ember_wire.h). */
#pragma once

#include "engine/job.h"
#include "engine/local/plan.h"

/* Whether an ember can put this file into place: where a program may write, for that is what it is by then. */
bool order_takes(const struct job_file *file);

/* Sends it over the ember's control socket; `forks`: that is an interpreter already. ERROR_FAILED when the ember is
 * gone. */
int order_send(int socket, const struct job *job, bool forks, const struct plan *plan, struct error *err);
