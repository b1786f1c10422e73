import { type AssetRequest, createAsset, getAsset } from "@sluice/core";
import { createOutputSchema, createRequestSchema, createText, readText, type Tool } from "../base/tool.js";

export const assetCreate: Tool = {
  name: "asset_create",
  title: "Register an image",
  description:
    "Registers an image as an asset, which videos of gamma-video-2.0 and gamma-video-fast can use as asset://<id>. Costs money.",
  inputSchema: createRequestSchema("gamma-asset"),
  outputSchema: createOutputSchema("id", "uri"),
  paid: "idempotency",
  async run(input, { client, signal, idempotencyKey }) {
    const request: object = { ...input, model: "gamma-asset" };
    const { id, uri } = await createAsset(client, request as AssetRequest, { signal, idempotencyKey });
    return {
      content: [createText(`The asset ${id} is registered. Videos name it ${uri}, once it is active.`)],
      structuredContent: { id, uri },
    };
  },
};

/** The tool for a client with an `assetLookup`. */
export const assetStatus: Tool = {
  name: "asset_status",
  title: "State of an asset",
  description: "Returns the state of an asset now: only an active one can be used. Costs nothing.",
  inputSchema: {
    type: "object",
    properties: { id: { type: "string", minLength: 1, description: "Id of the asset." } },
    required: ["id"],
  },
  outputSchema: createOutputSchema("id", "state", "uri"),
  async run(input, { client, signal }) {
    const { id, state, uri } = await getAsset(client, readText(input, "id"), { signal });
    return { content: [createText(`The asset ${id} is ${state}.`)], structuredContent: { id, state, uri } };
  },
};
