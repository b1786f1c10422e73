import { createProxy } from "@sluice/worker-proxy";
import { moderated } from "./moderation.ts";
import { type Env, options } from "./options.ts"; // the options of your proxy

export default createProxy<Env>({
  ...options,
  fetch: moderated((text) => /\b(bomb|poison)\b/i.test(text)), // yours
});
