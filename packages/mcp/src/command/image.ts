import { generateImages, type ImageRequest } from "@sluice/core";
import { saveMedia } from "../save.js";
import { withFields } from "./arguments.js";
import { json, modelOf, promptOf, type Task } from "./task.js";

/** Draws pictures, and saves them. */
export async function image(task: Task): Promise<void> {
  const { args, client, signal, out, err } = task;
  const model = modelOf("image", args);
  const size = args.size === undefined ? {} : { size: args.size };
  const request = withFields({ model, prompt: await promptOf(task), ...size }, args.set);
  const idempotencyKey = crypto.randomUUID();
  if (!args.json) err.write("Drawing, which takes up to some minutes …\n");
  const { images } = await generateImages(client, request as unknown as ImageRequest, {
    signal,
    idempotencyKey,
  });
  const results = [];
  for (const [index, { url, error }] of images.entries()) {
    if (error) results.push({ error: error.message });
    else {
      const name = `image-${idempotencyKey.slice(0, 8)}-${index + 1}`;
      const options = { folder: args.out, maxBytes: undefined, signal };
      const { path, says } = await saveMedia(client, url, name, options);
      results.push({ url, path, says });
    }
  }
  if (args.json) return void out.write(json({ model, images: results.map(({ says: _, ...rest }) => rest) }));
  for (const { says, error } of results) out.write(`${says ?? `Not made: ${error}`}\n`);
}
