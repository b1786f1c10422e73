import { type Client, createAsset, createVideoTask, generateImages, type RequestOptions } from "@sluice/core";
import { createEpsilonTask } from "@sluice/core/epsilon";

/** Sends a request that is billed, so that a repeat may cost twice. */
type Create = (client: Client, options?: RequestOptions) => Promise<unknown>;

/** The functions that send such requests, and a response for each. */
export const creates: readonly (readonly [name: string, create: Create, response: object])[] = [
  [
    "generateImages",
    (client, options) =>
      generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" }, options),
    { data: [{ url: "https://files.test/1.png" }] },
  ],
  [
    "createVideoTask",
    (client, options) =>
      createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } }, options),
    { id: "t-1", model: "beta3.0-video", created_at: 1 },
  ],
  [
    "createAsset",
    (client, options) =>
      createAsset(
        client,
        { model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Image", URL: "https://a.test/1.png" },
        options,
      ),
    { Id: "a-1" },
  ],
  [
    "createEpsilonTask",
    (client, options) => createEpsilonTask(client, "text2video", { prompt: "A reef" }, options),
    { id: "e-1" },
  ],
];
