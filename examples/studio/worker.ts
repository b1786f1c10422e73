import { createStudioWorker } from "./studio-worker.ts";

const { proxy, Sluice } = createStudioWorker();

/** The class of the objects, under the name that wrangler.jsonc binds. */
export { Sluice };

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
export default proxy;
