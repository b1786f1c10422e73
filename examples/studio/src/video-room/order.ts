import type { VideoRequest } from "@sluice/core";
import type { VideoModel } from "@sluice/core/schemas";
import { numberOf } from "../room/form/number-field.js";
import type { Source } from "../room/sources/source.js";
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
export function itemsOf(order: VideoOrder, { media }: Offer): { kind: MediaKind; url: string }[] {
  return media.flatMap(({ kind }) => (order.media[kind] ?? []).map(({ url }) => ({ kind, url })));
}

/** The request, with exactly what was filled in and the model has. What is wrong with it, `findingsOf` says. */
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
        content: [...(text ? [{ type: "text", text }] : []), ...items.map(contentOf)],
        ...settings,
      };
  return request as VideoRequest;
}

/** Only images have a role: of other items the gateway shows none. */
function contentOf({ kind, url }: { kind: MediaKind; url: string }): object {
  switch (kind) {
    case "reference_video":
      return { type: "video_url", video_url: { url } };
    case "reference_audio":
      return { type: "audio_url", audio_url: { url } };
    default:
      return { type: "image_url", image_url: { url }, role: kind };
  }
}

function settingsOf(order: VideoOrder, { resolutions, ratios, seed, switches }: Offer): object {
  const chosen = {
    resolution: resolutions.includes(order.resolution) ? order.resolution : undefined,
    ratio: ratios.includes(order.ratio) ? order.ratio : undefined,
    duration: numberOf(order.duration),
    seed: seed && numberOf(order.seed),
    ...switchedOf(order, switches),
  };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
}

function switchedOf(order: VideoOrder, offered: Offer["switches"]): object {
  const { web_search, ...plain } = offered;
  const fields = Object.entries(plain).map(([name, { isOn, isSaid }]) => {
    const chosen = order.switches[name as SwitchName];
    // where nobody knows what the model does by itself, it is told what the form shows
    return [name, chosen ?? (isSaid ? undefined : isOn)];
  });
  const searches = web_search && order.switches.web_search;
  return { ...Object.fromEntries(fields), ...(searches && { tools: [{ type: "web_search" }] }) };
}
