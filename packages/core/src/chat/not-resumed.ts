import { ConfigurationError } from "../vocabulary/errors.js";
import type { OpenResumption } from "./resume.js";

const NOT_RESUMED =
  "resume: a stored response is read by createClient({ resume: streamResumption() }) only; nothing was sent";

/** Rejects a stored response, for a client without `resume`. */
export const notResumed: OpenResumption = {
  open: () => ({
    id: undefined,
    refusal: undefined,
    request: () => Promise.reject(new ConfigurationError(NOT_RESUMED)),
    read: () => undefined,
    drop: () => false,
    stop: () => {},
  }),
};
