import type { Issue, VideoRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { checkMedia, checkProbe, type MediaEntry } from "./check.js";
import { parseDataURI } from "./data-uri.js";
import { signedFormats } from "./formats.js";
import { type MediaLimits, type MediaUse, mediaLimits } from "./limits.js";
import { type MediaProbe, type ProbeOptions, probeMedia, probeWherePossible } from "./probe.js";

/**
 * Checks the files and data URIs of a video request. Nothing is downloaded. For `beta` models (`input.media`) it checks
 * the limits of each file, and the total seconds of all videos, of all audios, and of videos and result together (spec,
 * Family `beta`). For `gamma` models (`content`) the spec lists no limits: it checks that the bytes are complete and
 * have the declared type. `uploads()` runs it for each request.
 *
 * @returns The broken rules with the item's path, `"input.media.0"`, `"content.1"`. Empty for a model that the tables
 * don't know.
 * @throws {ConfigurationError} for a video or an audio file without `parser`
 * @throws {ValidationError} if a file can no longer be read; also throws the signal's reason when it aborts.
 * @example
 * ```ts
 * const issues = await checkRequestMedia(request);
 * ```
 */
export function checkRequestMedia(request: VideoRequest, options: ProbeOptions = {}): Promise<Issue[]> {
  return checkItems(request, options, probeMedia);
}

/** Checks the readable media. Without a parser, it does not measure videos and audio files. */
export function checkWherePossible(request: VideoRequest, options: ProbeOptions): Promise<Issue[]> {
  return checkItems(request, options, probeWherePossible);
}

async function checkItems(
  request: VideoRequest,
  options: ProbeOptions,
  probe: (file: Blob, options: ProbeOptions) => Promise<MediaProbe>,
): Promise<Issue[]> {
  const { model, input, content, parameters } = request as LooseRequest;
  if (!Object.values(models).some(({ id, kind }) => id === model && kind === "video")) return [];
  const { media } = input ?? {};
  if (media) return checkBetaItems(media);
  return content ? checkGammaItems(content) : [];

  async function checkBetaItems(items: readonly LooseItem[]): Promise<Issue[]> {
    const { durationDefault } = models["beta3.0-video"];
    const entries = await Promise.all(
      items.map(async ({ type, url }, index): Promise<MediaEntry[]> => {
        if (!Object.hasOwn(mediaLimits, type)) return [];
        const found = await probeURL(url);
        return found ? [{ media: found, use: type as MediaUse, path: `input.media.${index}` }] : [];
      }),
    );
    return checkMedia(entries.flat(), {
      ...options,
      outputSeconds: parameters?.duration ?? durationDefault,
    });
  }

  async function checkGammaItems(items: readonly LooseItem[]): Promise<Issue[]> {
    const issues = await Promise.all(
      items.map(async (item, index) => {
        const kind = /^(image|video|audio)_url$/.exec(item.type)?.[1] as URLKind | undefined;
        const found = kind && (await probeURL(item[`${kind}_url`]?.url));
        return found
          ? checkProbe(found, allowAnyFormat(kind, found), `media.${kind}`, `content.${index}`)
          : [];
      }),
    );
    return issues.flat();
  }

  async function probeURL(url: unknown): Promise<MediaProbe | undefined> {
    // a file is uploaded after the check
    const found = url instanceof Blob ? url : typeof url === "string" ? parseDataURI(url) : undefined;
    return found && probe(found, options);
  }
}

/** Fields of a request that the check reads. The schema checks the rest. */
interface LooseRequest {
  readonly model?: string;
  readonly input?: { readonly media?: readonly LooseItem[] } | undefined;
  readonly content?: readonly LooseItem[] | undefined;
  readonly parameters?: { readonly duration?: number } | undefined;
}

type URLKind = "image" | "video" | "audio";
type LooseItem = { readonly type: string; readonly url?: unknown } & {
  readonly [Kind in URLKind as `${Kind}_url`]?: { readonly url?: unknown };
};

/** Lists all formats of a kind, since the spec names none. Also accepts a file of an unknown kind. */
function allowAnyFormat(kind: URLKind, probe: MediaProbe): MediaLimits {
  const formats = Object.entries(signedFormats).flatMap(([name, format]) =>
    format.kind === kind ? [name] : [],
  );
  const isAccepted = probe.kind === kind || probe.type === "application/octet-stream";
  return { kind, formats: isAccepted ? [...formats, probe.format] : formats };
}
