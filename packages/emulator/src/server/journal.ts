import { createJSON, type HandlerResponse } from "./http.js";
import type { EmulatorRequest } from "./request-log.js";
import type { Redactor } from "./secrets.js";

const PATH = "/journal";

/** Handles `GET /journal`: returns the requests to other paths without secrets, oldest first. */
export function handleJournal(requests: readonly EmulatorRequest[], redactor: Redactor): HandlerResponse {
  return createJSON({ requests: redactor.redactValue(requests.filter(({ path }) => path !== PATH)) });
}
