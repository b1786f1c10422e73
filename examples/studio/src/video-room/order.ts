import { checkVideoRequest, type Issue, type VideoModel, type VideoRequest } from "@sluice/core";
import { numberOf } from "../room/field.js";
import type { Source } from "../room/sources.js";
import { type MediaKind, type Offer, offerOf, type SwitchName } from "./offer.js";

/** The form, as it was filled in: kept when the model changes, used where the model has it. */
export interface VideoOrder {
  readonly prompt: string;
  readonly model: VideoModel;
  /** Empty leaves it to the model, here and below. */
  readonly resolution: string;
  readonly ratio: string;
  readonly duration: string;
  readonly seed: string;
  readonly switches: Partial<Readonly<Record<SwitchName, boolean>>>;
  readonly media: Partial<Readonly<Record<MediaKind, readonly Source[]>>>;
}

export const emptyOrder: VideoOrder = {
  prompt: "",
  model: "beta3.0-video",
  resolution: "",
  ratio: "",
  duration: "",
  seed: "",
  switches: {},
  media: {},
};

/** What the order's model accepts, with what it starts from. */
export function offerFor({ model, media }: VideoOrder): Offer {
  const kinds = offerOf(model, false).media.map(({ kind }) => kind);
  return offerOf(
    model,
    kinds.some((kind) => (media[kind]?.length ?? 0) > 0),
  );
}

/** What is sent along, in the order of the request. */
function itemsOf(order: VideoOrder, { media }: Offer): { kind: MediaKind; url: string }[] {
  return media.flatMap(({ kind }) => (order.media[kind] ?? []).map(({ url }) => ({ kind, url })));
}

/** The request, with exactly what was filled in and the model has. What is wrong with it, {@link findingsOf} says. */
export function requestOf(order: VideoOrder): VideoRequest {
  const offer = offerFor(order);
  const { model, prompt } = order;
  const text = prompt.trim();
  const items = itemsOf(order, offer);
  const settings = settingsOf(order, offer);
  const isBeta = model === "beta3.0-video" || model === "beta3.0-video-prime";
  const request = isBeta
    ? {
        model,
        input: {
          ...(text && { prompt: text }),
          ...(items.length > 0 && { media: items.map(({ kind, url }) => ({ type: kind, url })) }),
        },
        ...(Object.keys(settings).length > 0 && { parameters: settings }),
      }
    : {
        model,
        content: [
          ...(text ? [{ type: "text", text }] : []),
          ...items.map(({ kind, url }) => ({ type: "image_url", image_url: { url }, role: kind })),
        ],
        ...settings,
      };
  return request as VideoRequest;
}

function settingsOf(order: VideoOrder, { resolutions, ratios, seed, switches }: Offer): object {
  const chosen = {
    resolution: resolutions.includes(order.resolution) ? order.resolution : undefined,
    ratio: ratios.includes(order.ratio) ? order.ratio : undefined,
    duration: numberOf(order.duration),
    seed: seed && numberOf(order.seed),
    ...Object.fromEntries(
      Object.keys(switches).map((name) => [name, order.switches[name as SwitchName]] as const),
    ),
  };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
}

/** A broken rule, and the field of the form that it is about; `media` is about all that the video starts from. */
export interface Finding {
  readonly field: "prompt" | "duration" | "seed" | "media" | MediaKind | (string & {});
  readonly issue: Issue;
}

/** What the chosen model would not accept. */
export function findingsOf(order: VideoOrder): readonly Finding[] {
  const items = itemsOf(order, offerFor(order));
  const first = order.prompt.trim() ? 1 : 0;
  return checkVideoRequest(requestOf(order)).issues.map((issue) => {
    const [, place] = /^input\.media\.(\d+)/.exec(issue.path) ?? [];
    const [, contentPlace] = /^content\.(\d+)/.exec(issue.path) ?? [];
    const at = place ? Number(place) : contentPlace ? Number(contentPlace) - first : undefined;
    return { field: fieldOf(issue, at === undefined ? undefined : (items[at]?.kind ?? "prompt")), issue };
  });
}

function fieldOf({ path, rule }: Issue, kind: MediaKind | "prompt" | undefined): Finding["field"] {
  if (kind) return kind;
  if (path === "content") return /text|empty/.test(rule) ? "prompt" : "media";
  return path.split(".").at(-1) ?? path;
}
