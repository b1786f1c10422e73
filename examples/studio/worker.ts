import { createProxy } from "@sluice/worker-proxy";
import {
  type ObjectNamespace,
  streamLog,
  streamLogObject,
  videoEvents,
  videoWatch,
} from "@sluice/worker-proxy/durable";
import { type Env as CommonEnv, options } from "./options.js";

interface Env extends CommonEnv {
  readonly STREAM_LOG: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
}

/** Keeps each answer, so that a page that is loaded again reads on. */
export const StreamLog = streamLogObject<Env>(options);
/** Polls each video task once for all tabs. */
export const VideoWatch = videoWatch<Env>(options);

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
export default createProxy<Env>({
  ...options,
  extensions: [streamLog((env) => env.STREAM_LOG), videoEvents((env) => env.VIDEO_WATCH)],
});
