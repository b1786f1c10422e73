import { createTestClient, equal, readFailure } from "./setup.js";

/*
 * Images, videos and assets, and what can be read of their files.
 */

const image = { model: "gamma-image-4-0-250828", prompt: "A lock on a canal", size: "1024x1024" };

/** An image is made, and its address gives the file. */
export async function images(setup) {
  const made = await setup.core.generateImages(createTestClient(setup), image);
  const file = await fetch(made.images[0]?.url ?? "");
  equal([made.images.length, file.status, file.headers.get("content-type")], [1, 200, "image/png"]);
  await file.blob();
}

/** A task is watched through its states until it has succeeded; one that fails says so. */
export async function video(setup) {
  const { createVideoTask, watchVideoTask } = setup.core;
  const client = createTestClient(setup);
  const request = (prompt) => ({ model: "beta3.0-video", input: { prompt } });
  const states = new Set();
  let last;
  const task = await createVideoTask(client, request("A reef at dawn"));
  for await (last of watchVideoTask(client, task, { intervalMs: 10 })) states.add(last.state);
  equal([last.state, states.has("queued") || states.has("running")], ["succeeded", true]);
  const file = await fetch(last.url);
  equal([file.status, file.headers.get("content-type")], [200, "video/mp4"]);
  await file.blob();
  const failing = await createVideoTask(client, request("A reef at dawn [[fail]]"));
  const error = await readFailure(watchVideoTask(client, failing, { intervalMs: 10 }).result());
  equal([error.name, error.handle.id === failing.id], ["TaskError", true]);
}

/** A file is registered as a form, and looked up until it is active. */
export async function asset(setup) {
  const { createAsset, createClient, generateImages, watchAsset } = setup.core;
  const assetLookup = "/gamma/asset/GetAsset";
  const client = createClient({ baseURL: setup.baseURL, gateway: { assetLookup } });
  const { images } = await generateImages(client, image);
  const file = await (await fetch(images[0]?.url ?? "")).blob();
  const about = { model: "gamma-asset", GroupId: "group-1", Name: "canal.png", AssetType: "Image" };
  const handle = await createAsset(client, { ...about, URL: await setup.media.toDataURI(file) });
  const { state } = await watchAsset(client, handle, { intervalMs: 10 }).result();
  equal([state, handle.uri], ["active", `asset://${handle.id}`]);
}

/** Files are measured and checked, a video with mediabunny. */
export async function media(setup) {
  const { checkMedia, probeMedia, toDataURI } = setup.media;
  const parser = setup.mediabunny;
  const { createVideoTask, generateImages, watchVideoTask } = setup.core;
  const client = createTestClient(setup);
  const { images } = await generateImages(client, image);
  const drawn = await (await fetch(images[0]?.url ?? "")).blob();
  const { kind, type, width, height } = await probeMedia(drawn);
  equal([kind, type, width, height], ["image", "image/png", 1024, 1024]);
  const gif = new Blob(["GIF89a", new Uint8Array([44, 1, 250, 0, 0, 0, 0])]);
  equal(await toDataURI(gif), "data:image/gif;base64,R0lGODlhLAH6AAAAAA==");
  equal((await checkMedia([{ media: gif, use: "first_frame" }])).length > 0, true);

  const parameters = { resolution: "720P", duration: 5 };
  const task = await createVideoTask(client, {
    model: "beta3.0-video",
    input: { prompt: "Waves" },
    parameters,
  });
  const { url } = await watchVideoTask(client, task, { intervalMs: 10 }).result();
  const file = await probeMedia(await (await fetch(url)).blob(), { parser });
  equal([file.kind, file.type, Math.round(file.durationSeconds ?? 0)], ["video", "video/mp4", 5]);
  equal(Math.min(file.width ?? 0, file.height ?? 0), 480);
}
