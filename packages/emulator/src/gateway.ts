import { createAssets } from "./assets/assets.js";
import { systemClock } from "./base/clock.js";
import { createChat } from "./chat/chat.js";
import { createEpsilon } from "./epsilon/epsilon.js";
import { createFiles } from "./files/files.js";
import { createImages } from "./images/images.js";
import { handleIndexPage } from "./index-page.js";
import type { EmulatorOptions } from "./options.js";
import type { Handler } from "./server/exchange.js";
import { createRefusals } from "./server/refusals.js";
import type { Routes } from "./server/router.js";
import { createVideos } from "./videos/videos.js";

/**
 * Creates all endpoints of the specification, with their state.
 *
 * @param requireKey wraps a handler, so that a request without a valid key is refused
 */
export function createGateway(options: EmulatorOptions, requireKey: (handler: Handler) => Handler) {
  const {
    state,
    clock = systemClock,
    speed = 1,
    durations = {},
    chat: script,
    media = {},
    fetchMedia,
  } = options;
  const { refuse, takeFailure, clear: clearRefusals } = createRefusals();
  const files = createFiles({ state, clock, media });
  const shared = { state, clock, speed, refuse, takeFailure, files, fetchMedia };
  const chat = createChat({ ...shared, script });
  const images = createImages({ ...shared, durationMs: durations.imageMs });
  const assets = createAssets(shared);
  const videos = createVideos({
    ...shared,
    durationMs: durations.videoMs,
    getAssetStatus: assets.getStatus,
  });
  const epsilon = createEpsilon(shared);
  const epsilonCreate = { POST: requireKey(epsilon.handleCreate) };

  const routes: Routes = {
    "/": { GET: handleIndexPage },
    "/v1/chat/completions": { POST: requireKey(chat.handle) },
    "/v1/images/generations": { POST: requireKey(images.handle) },
    "/v1/video/generations": { POST: requireKey(videos.handleCreate) },
    "/v1/video/generations/{id}": { GET: requireKey(videos.handleQuery) },
    "/gamma/asset/CreateAsset": { POST: requireKey(assets.handleCreate) },
    "/gamma/asset/GetAsset": { POST: requireKey(assets.handleLookup) },
    "/epsilon/v1/videos/text2video": epsilonCreate,
    "/epsilon/v1/videos/image2video": epsilonCreate,
    "/epsilon/v1/videos/multi-image2video": epsilonCreate,
    "/epsilon/v1/videos/{id}": { GET: requireKey(epsilon.handleQuery) },
    // no key: the signed URL is the permission
    "/files/{name}": { GET: files.handle, HEAD: files.handle },
  };
  return { routes, clear };

  function clear() {
    clearRefusals();
    for (const endpoint of [chat, images, assets, videos, epsilon, files]) endpoint.clear();
  }
}
