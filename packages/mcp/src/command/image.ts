import { generateImages, type ImageRequest } from "@sluice/core";
import { listenToRequests } from "../base/listen-to-requests.js";
import { saveMedia } from "../base/save.js";
import { setFields } from "./arguments.js";
import { formatBar, type Progress, showProgress } from "./bar.js";
import { checkFolder, chooseModel, formatJSON, PARTIAL_CODE, readPrompt, type Task } from "./task.js";

/** Generates images and saves them. Returns the exit code. */
export async function runImage(task: Task): Promise<number> {
  const { args, signal, out, err } = task;
  const { model, checks } = chooseModel("image", task);
  const size = args.size === undefined ? {} : { size: args.size };
  const request = setFields({ model, prompt: await readPrompt(task), ...size }, args.set);
  await checkFolder(args.out);
  const idempotencyKey = crypto.randomUUID();
  const { images } = await generateWithProgress(task, request as ImageRequest, { checks, idempotencyKey });
  const results = [];
  for (const [index, { url, error }] of images.entries()) {
    if (error) results.push({ error: error.message, text: `Not made: ${error.message}` });
    else {
      const name = `image-${idempotencyKey.slice(0, 8)}-${index + 1}`;
      const options = { folder: args.out, maxBytes: undefined, signal };
      const saved = await saveMedia(task.client, url, name, options);
      results.push({ url, path: saved.path, error: saved.error, text: saved.text });
    }
  }
  const failed = results.filter(({ error }) => error !== undefined);
  const shortfall = `${failed.length} of ${results.length} images were not made or not saved.`;
  if (args.json) {
    const error = failed.length > 0 && { error: { name: "InPart", message: shortfall } };
    out.write(formatJSON({ model, images: results.map(({ text: _, ...rest }) => rest), ...error }));
  } else {
    for (const { text } of results) out.write(`${text}\n`);
    if (failed.length > 0) err.write(`${shortfall}\n`);
  }
  return failed.length > 0 ? PARTIAL_CODE : 0;
}

/** Generates images, and shows the time since the request was sent. A refused request is not sent, and shows nothing. */
async function generateWithProgress(
  { args, client, err, signal }: Task,
  request: ImageRequest,
  options: { readonly checks: boolean; readonly idempotencyKey: string },
) {
  let progress: Progress | undefined;
  const listeningClient = listenToRequests(client, () => {
    if (args.json || progress) return;
    progress = showProgress(err, client.clock, (options) => formatBar(undefined, "Generating", options));
    progress.update();
  });
  try {
    return await generateImages(listeningClient, request, { ...options, signal });
  } finally {
    progress?.end();
    err.endLine();
  }
}
