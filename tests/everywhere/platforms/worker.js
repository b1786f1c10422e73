import * as core from "@sluice/core";
import * as media from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import * as stores from "@sluice/stores";
import { runBehaviours } from "./behaviours/index.js";

/* The behaviours in a Worker. A request has the addresses, and its response is the report. */

export default {
  async fetch(request) {
    const { baseURL, gatewayURL } = await request.json();
    return Response.json(await runBehaviours({ core, stores, media, mediabunny, baseURL, gatewayURL }));
  },
};
