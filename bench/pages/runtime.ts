import { createGateway, measureRatios, type Size, sizes } from "../stream-ratios.ts";
import { own } from "../subjects.ts";

/*
 * Our client and the floor as one program, for runtimes without a page. Node, Deno and Bun run it from a terminal. The
 * clock of workerd stops during a request, so workerd gets one run per request.
 */

const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";
if (!isWorkerd) {
  const columns: Record<string, unknown> = {};
  for (const size of Object.keys(sizes) as Size[]) columns[size] = await measureRatios(own, size);
  console.log(JSON.stringify(columns));
  process.exit(); // Bun would serve the handler below
}

/** Created once, so that a run does not include the creation of the frames. */
const gateways = new Map<Size, ReturnType<typeof createGateway>>();

export default {
  async fetch(request: Request): Promise<Response> {
    const { subject, size } = (await request.json()) as { subject: keyof typeof own; size: Size };
    const gateway = gateways.get(size) ?? createGateway(size);
    gateways.set(size, gateway);
    await own[subject](gateway, () => {});
    return new Response("done");
  },
};
