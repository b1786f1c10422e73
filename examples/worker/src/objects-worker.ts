import { streamLogObject } from "@sluice/durable";
import { type Env, meter } from "./meter.js";
import { options } from "./options.js";

export { Budget } from "@sluice/durable";

/** Keeps each answer, and goes on when its readers leave, or when the Worker in front of it is deployed. */
export const StreamLog = streamLogObject<Env>({
  baseURL: options.baseURL,
  apiKey: options.apiKey,
  limits: options.limits,
  meter,
  namespace: (env) => env.STREAM_LOG,
  onEvent: (event) => console.log(JSON.stringify(event)),
});

/** The Worker of wrangler.objects.jsonc has objects alone: it has no address, and answers nobody. */
export default { fetch: () => new Response(null, { status: 404 }) };
