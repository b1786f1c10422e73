/**
 * Table of the image models (spec, POST /v1/images/generations): the sizes that each model accepts. The spec does not
 * show the default size and the bounds of `max_images`.
 */
export const imageModels = {
  /** Images of up to 4K (spec, POST /v1/images/generations). */
  "gamma-image-4-0-250828": {
    /** Family in the names of the rules: `image.4-0`, `video.beta`. */
    family: "4-0",
    /** Values of `size`. */
    // biome-ignore format: a list of sizes is read as a block
    sizes: [
      "1024x1024", "864x1152", "1152x864", "1312x736", "736x1312", "832x1248", "1248x832", "1568x672",
      "2048x2048", "1728x2304", "2304x1728", "2848x1600", "1600x2848", "2496x1664", "1664x2496", "3136x1344",
      "4096x4096", "3520x4704", "4704x3520", "5504x3040", "3040x5504", "3328x4992", "4992x3328", "6240x2656",
    ],
    /** Default of `watermark`. */
    watermarkDefault: false,
  },
  /** Images of 2K and 3K (spec, POST /v1/images/generations). */
  "gamma-image-5-0-260128": {
    family: "5-0",
    // biome-ignore format: a list of sizes is read as a block
    sizes: [
      "2048x2048", "1728x2304", "2304x1728", "2848x1600", "1600x2848", "2496x1664", "1664x2496", "3136x1344",
      "3072x3072", "2592x3456", "3456x2592", "4096x2304", "2304x4096", "2496x3744", "3744x2496", "4704x2016",
    ],
    watermarkDefault: false,
  },
} as const;

/** Id of an image model at the gateway. */
export type ImageModel = keyof typeof imageModels;

/** Shared by both `beta` models. */
const betaVideo = {
  family: "beta",
  /** Largest number of characters of the prompt. */
  promptMax: 5000,
  /** Values of `resolution`. */
  resolutions: ["1080P", "720P", "480P"],
  /** Default of `resolution`. */
  resolutionDefault: "1080P",
  /** Values of `ratio`. */
  ratios: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
  /** Default of `ratio`. */
  ratioDefault: "adaptive",
  /** Length in seconds; with `auto` the model chooses. */
  duration: { min: 2, max: 30, auto: -1 },
  /** Default length in seconds. */
  durationDefault: 5,
  /** Bounds of `seed`. */
  seed: { min: 0, max: 2_147_483_647 },
  /** Default of the sound option. */
  audioDefault: true,
  /** Default of `prompt_extend`. */
  promptExtendDefault: true,
  watermarkDefault: false,
  /** `input.media` item types that are frames of the video; they exclude all others. */
  frames: ["first_frame", "last_frame"],
  /** `input.media` item types that are references. `file` and `link` exclude each other. */
  references: ["reference_image", "reference_video", "reference_audio", "file", "link"],
  /** Kind of the file at the `url` of an item type. */
  kinds: {
    /** Kind of the first frame. */
    first_frame: "image",
    /** Kind of the last frame. */
    last_frame: "image",
    /** Kind of a reference image. */
    reference_image: "image",
    /** Kind of a reference video. */
    reference_video: "video",
    /** Kind of a reference sound. */
    reference_audio: "audio",
    /** Kind of an uploaded file. */
    file: "file",
    /** Kind of a link. */
    link: "link",
  },
  /** Largest number of items of a type. */
  maxItems: {
    /** Largest number of first frames. */
    first_frame: 1,
    /** Largest number of last frames. */
    last_frame: 1,
    /** Largest number of reference images. */
    reference_image: 10,
    /** Largest number of reference videos. */
    reference_video: 5,
    /** Largest number of reference sounds. */
    reference_audio: 5,
    /** Largest number of uploaded files. */
    file: 1,
    /** Largest number of links. */
    link: 1,
  },
  /** Name of an item type in the prompt, before a number from 1: `Image 1`. */
  promptNames: {
    /** Name of a reference image. */
    reference_image: "Image",
    /** Name of a reference video. */
    reference_video: "Video",
    /** Name of a reference sound. */
    reference_audio: "Audio",
  },
  /** Formats of images within the request. `mediaLimits` of `@sluice/media` has all limits of files. */
  imageFormats: ["jpeg", "png", "bmp", "webp"],
  /** Hours after its creation during which a task can be queried and its result URL works. */
  retentionHours: 24,
} as const;

type BetaValues = typeof betaVideo;
/** Row of the beta models. It has a name, so that its values are declared once. */
interface BetaVideo extends BetaValues {}

/**
 * Table of the video models (spec, POST /v1/video/generations): the values and bounds that each model accepts. `beta`
 * models write `1080P`, `gamma` models `1080p`.
 */
export const videoModels = {
  /** Videos from a prompt, frames or references (spec, Family `beta`). */
  "beta3.0-video": betaVideo as BetaVideo,
  /** Accepts the same requests (spec, Family `beta`). */
  "beta3.0-video-prime": betaVideo as BetaVideo,
  /** Videos from a text or frames, with sound. */
  "gamma-video-1-5-pro-251215": {
    family: "1-5-pro",
    resolutions: ["480p", "720p", "1080p"],
    resolutionDefault: "720p",
    ratios: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
    ratioDefault: "adaptive",
    /** Values of `ratio` in text to video. */
    textRatios: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
    /** Default of `ratio` in text to video. */
    textRatioDefault: "adaptive",
    duration: { min: 4, max: 12, auto: -1 },
    durationDefault: 5,
    seed: { min: -1, max: 4_294_967_295 },
    /** Values of `role` of an image. */
    roles: ["first_frame", "last_frame"],
    /** True for a model with `generate_audio`. */
    generateAudio: true,
    /** Default of the sound option. */
    generateAudioDefault: false,
    /** Default of `camera_fixed`. */
    cameraFixedDefault: false,
    watermarkDefault: false,
  },
  /** Videos from a text or a first frame, without sound. */
  "gamma-video-1-0-pro-fast-251015": {
    family: "1-0-pro-fast",
    resolutions: ["480p", "720p", "1080p"],
    resolutionDefault: "1080p",
    ratios: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
    ratioDefault: "adaptive",
    textRatios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9"],
    textRatioDefault: "16:9",
    duration: { min: 2, max: 12 },
    durationDefault: 5,
    seed: { min: -1, max: 4_294_967_295 },
    roles: ["first_frame"],
    generateAudio: false,
    cameraFixedDefault: false,
    watermarkDefault: false,
  },
  /** Videos from texts, images, videos and sounds, up to 4K. */
  "gamma-video-2.0": {
    family: "2-0",
    resolutions: ["480p", "720p", "1080p", "4k"],
    ratios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"],
    duration: { min: 4, max: 15 },
    /** The roles in the spec. Other roles are sent with a warning. */
    roles: ["first_frame", "last_frame", "reference_image"],
    /** True for a model with `return_last_frame`. */
    returnLastFrame: true,
  },
  /** Accepts the same requests, up to 720p. */
  "gamma-video-fast": {
    family: "fast",
    resolutions: ["480p", "720p"],
    ratios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"],
    duration: { min: 4, max: 15 },
    roles: ["first_frame", "last_frame", "reference_image"],
    returnLastFrame: false,
  },
} as const;

/** Id of a video model at the gateway. */
export type VideoModel = keyof typeof videoModels;

/**
 * Table of the asset model (spec, POST /gamma/asset/CreateAsset). Registrations are billed under its id.
 */
export const assetModels = {
  /** Registers images for video requests (spec, POST /gamma/asset/CreateAsset). */
  "gamma-asset": {
    family: "asset",
    /** Values of `AssetType`. */
    types: ["Image"],
  },
} as const;

/** Id of the model of asset registrations. */
export type AssetModel = keyof typeof assetModels;

/** The tables of the media models, by the kind of their calls. */
export const mediaModels = { image: imageModels, video: videoModels, asset: assetModels } as const;

/** Finds the row of a video model; undefined for an unknown id. */
export function findVideoModel(id: string): (typeof videoModels)[VideoModel] | undefined {
  return Object.hasOwn(videoModels, id) ? videoModels[id as VideoModel] : undefined;
}
