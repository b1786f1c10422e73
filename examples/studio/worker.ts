import { createStudioWorker } from "./studio-worker.ts";

const studio = createStudioWorker();

/** Classes of the objects, under the names that wrangler.jsonc binds. */
export const { StreamLog, MediaIndex, VideoWatch } = studio;

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
export default { fetch: studio.fetch };
