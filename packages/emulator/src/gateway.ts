import { createAssets } from "./assets/assets.js";
import type { EmulatorClock } from "./base/clock.js";
import { createChat } from "./chat/chat.js";
import type { ChatScript } from "./chat/reply.js";
import { createEpsilon } from "./epsilon/epsilon.js";
import { createFiles } from "./files/files.js";
import type { MediaScript } from "./files/media.js";
import { createImages } from "./images/images.js";
import { indexPage } from "./index-page.js";
import type { Durations } from "./server/durations.js";
import type { Handler } from "./server/exchange.js";
import type { FetchMedia } from "./server/reach.js";
import { createRefusals } from "./server/refusals.js";
import type { Routes } from "./server/router.js";
import type { EmulatorState } from "./server/state.js";
import { createVideos } from "./videos/videos.js";

/** Shared parts of all endpoints. */
export interface GatewayOptions {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly durations: Durations;
  readonly script: ChatScript | undefined;
  readonly media: MediaScript;
  readonly fetchMedia: FetchMedia | undefined;
  /** Wraps a handler, so that a request without a valid key is refused. */
  readonly withKey: (handler: Handler) => Handler;
}

/** Creates all endpoints of the specification, with their state. */
export function createGateway({
  state,
  clock,
  speed,
  durations,
  script,
  media,
  fetchMedia,
  withKey,
}: GatewayOptions) {
  const { refuse, failureOf, clear: clearRefusals } = createRefusals();
  const files = createFiles({ state, clock, media });
  const shared = { state, clock, speed, refuse, failureOf, files };
  const chat = createChat({ ...shared, fetchMedia, script });
  const images = createImages({ ...shared, fetchMedia, usualMs: durations.imageMs });
  const assets = createAssets(shared);
  const videos = createVideos({
    ...shared,
    fetchMedia,
    usualMs: durations.videoMs,
    assetStatus: assets.statusOf,
  });
  const epsilon = createEpsilon(shared);
  const epsilonCreate = { POST: withKey(epsilon.create) };

  const routes: Routes = {
    "/": { GET: indexPage },
    "/v1/chat/completions": { POST: withKey(chat.answer) },
    "/v1/images/generations": { POST: withKey(images.answer) },
    "/v1/video/generations": { POST: withKey(videos.create) },
    "/v1/video/generations/{id}": { GET: withKey(videos.query) },
    "/gamma/asset/CreateAsset": { POST: withKey(assets.create) },
    "/gamma/asset/GetAsset": { POST: withKey(assets.lookup) },
    "/epsilon/v1/videos/text2video": epsilonCreate,
    "/epsilon/v1/videos/image2video": epsilonCreate,
    "/epsilon/v1/videos/multi-image2video": epsilonCreate,
    "/epsilon/v1/videos/{id}": { GET: withKey(epsilon.query) },
    // no key: the signed URL is the permission
    "/files/{name}": { GET: files.answer, HEAD: files.answer },
  };
  return { routes, clear };

  function clear() {
    clearRefusals();
    for (const endpoint of [chat, images, assets, videos, epsilon, files]) endpoint.clear();
  }
}
