import { createStudioWorker, type DevicesEnv, devicesProxy, type Env, nameIn } from "./studio-worker.ts";

const studio = createStudioWorker();

/** Classes of the objects, under the names that wrangler.jsonc binds. */
export const { StreamLog, MediaIndex, VideoWatch } = studio;
export { Conversations } from "./studio-worker.ts";

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
export default {
  fetch: (request: Request, env: Env & DevicesEnv, context?: Parameters<typeof studio.fetch>[2]) =>
    (nameIn(request) === undefined ? studio : devicesProxy).fetch(request, env, context),
};
