import * as core from "@sluice/core";
import * as media from "@sluice/core/media";
import { runBehaviours } from "./behaviours/index.js";

/* The behaviours in a Worker. A request has the addresses, and its answer is the report. */

export default {
  async fetch(request) {
    const { baseURL, gatewayURL } = await request.json();
    return Response.json(await runBehaviours({ core, media, baseURL, gatewayURL }));
  },
};
