import { generateImages, type ImageRequest } from "@sluice/core";
import { onRequest } from "../base/on-request.js";
import { saveMedia } from "../base/save.js";
import { withFields } from "./arguments.js";
import { checkFolder, IN_PART, json, modelOf, promptOf, type Task } from "./task.js";

/** Draws images, and saves them. */
export async function image(task: Task): Promise<number> {
  const { args, signal, out, err } = task;
  const { model, checks } = modelOf("image", task);
  const size = args.size === undefined ? {} : { size: args.size };
  const request = withFields({ model, prompt: await promptOf(task), ...size }, args.set);
  await checkFolder(args.out);
  const idempotencyKey = crypto.randomUUID();
  const { images } = await generateImages(sayingWhenSent(task), request as unknown as ImageRequest, {
    signal,
    checks,
    idempotencyKey,
  });
  const results = [];
  for (const [index, { url, error }] of images.entries()) {
    if (error) results.push({ error: error.message, says: `Not made: ${error.message}` });
    else {
      const name = `image-${idempotencyKey.slice(0, 8)}-${index + 1}`;
      const options = { folder: args.out, maxBytes: undefined, signal };
      const saved = await saveMedia(task.client, url, name, options);
      results.push({ url, path: saved.path, error: saved.error, says: saved.says });
    }
  }
  const failed = results.filter(({ error }) => error !== undefined);
  const shortfall = `${failed.length} of ${results.length} images were not made or not saved.`;
  if (args.json) {
    const error = failed.length > 0 && { error: { name: "InPart", message: shortfall } };
    out.write(json({ model, images: results.map(({ says: _, ...rest }) => rest), ...error }));
  } else {
    for (const { says } of results) out.write(`${says}\n`);
    if (failed.length > 0) err.write(`${shortfall}\n`);
  }
  return failed.length > 0 ? IN_PART : 0;
}

/** Says that it takes a while once the request has left, and not before it is refused by its own rules. */
function sayingWhenSent({ args, client, err }: Task): Task["client"] {
  let isSaid = args.json;
  return onRequest(client, () => {
    if (!isSaid) err.write("Drawing … this can take a few minutes.\n");
    isSaid = true;
  });
}
