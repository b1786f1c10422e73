import type { ImageModel } from "@sluice/core";
import type { ImageRequestOf } from "@sluice/react";
import {
  Clapperboard,
  Copy,
  Download,
  ImagePlus,
  Link,
  RotateCcw,
  Share,
  Shuffle,
  Trash2,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "@/components/sluice/button";
import { downloadMedia, shareMedia } from "@/components/sluice/download";
import { modelName } from "@/components/sluice/format";
import { ImageTile } from "@/components/sluice/image-tile";
import { ImageWall, PendingImages } from "@/components/sluice/image-wall";
import { downloadWords, SHARE, shareWords } from "@/components/sluice/media-words";
import { focusPlace } from "../media/composer.js";
import { type MediaDraft, urlsOf, useImageForm, useVideoForm } from "../media/use-media-form.js";
import { NOT_FINISHED } from "../room-words.js";
import { openRoute } from "../rooms.js";
import { later } from "../ui/later.js";
import { type MenuItem, toast } from "../ui/popups.js";
import { gallery, removeImage, type Sheet, type Shown, sizeOf, untilLeft } from "./gallery.js";

const Lightbox = later(async () => (await import("@/components/sluice/lightbox")).Lightbox, "page");

interface WallProps {
  readonly sheets: readonly Sheet[];
  /** The request in flight. */
  readonly pending:
    | { readonly request: ImageRequestOf<ImageModel> | undefined; readonly since: number | undefined }
    | undefined;
  readonly onStop: () => void;
  readonly onReuse: (draft: MediaDraft<ImageModel>) => void;
  /** Sends a request again that has not ended. */
  readonly onRetry: (draft: MediaDraft<ImageModel>) => void;
  readonly onVary: (draft: MediaDraft<ImageModel>) => void;
}

/** All images, newest first, in columns; a click opens one. */
export function Wall({ sheets, pending, onStop, onReuse, onRetry, onVary }: WallProps) {
  const [open, setOpen] = useState<string>();
  const list = useRef<HTMLUListElement>(null);
  const remove = (one: Shown) => {
    const place = shown.findIndex(({ image }) => image === one.image);
    toast("Image deleted", { onUndo: removeImage(one) });
    focusPlace(list.current, place + (pending ? countOf(pending.request) : 0));
  };
  const retry = ({ id, draft }: Sheet) => {
    gallery.remove(id);
    onRetry(draft);
  };
  const actionsOf = useActions({ onReuse, onVary, onRemove: remove });
  const shown = sheets.flatMap((sheet) =>
    (sheet.images.length > 0 ? sheet.images : [missing]).map((image, at): Shown & { key: string } => ({
      sheet,
      image,
      key: `${sheet.id} ${image.url ?? at}`,
    })),
  );
  return (
    <>
      <ImageWall label="Images" list={list}>
        {(styleOf) => (
          <>
            {pending && (
              <PendingImages
                styleOf={styleOf}
                size={pending.request?.size}
                count={countOf(pending.request)}
                since={pending.since}
                onStop={onStop}
              />
            )}
            {shown.map((one) => (
              <WhenLeft key={one.key} sheet={one.image === missing ? one.sheet : undefined}>
                <li aria-label={one.sheet.prompt} style={styleOf(sizeOf(one))}>
                  <ImageTile
                    image={one.image}
                    prompt={one.sheet.prompt}
                    size={sizeOf(one)}
                    actions={actionsOf(one)}
                    onOpen={() => setOpen(one.key)}
                    onDownload={(link) => void download(one, link.onGone)}
                    onRemove={() => remove(one)}
                  >
                    {one.image === missing ? (
                      <Button look="quiet" disabled={pending !== undefined} onClick={() => retry(one.sheet)}>
                        <RotateCcw aria-hidden />
                        Try again
                      </Button>
                    ) : (
                      <Button look="quiet" onClick={() => onReuse(one.sheet.draft)}>
                        <RotateCcw aria-hidden />
                        Reuse settings
                      </Button>
                    )}
                  </ImageTile>
                </li>
              </WhenLeft>
            ))}
          </>
        )}
      </ImageWall>
      {open !== undefined && (
        <Lightbox
          images={shown.filter(({ image }) => image.url).map(slideOf)}
          open={open}
          onClose={() => setOpen(undefined)}
          // beside the messages, which stand outside the root: what is copied here is told here
          root={document.getElementById("root")}
          actionsOf={({ key }) => {
            const one = shown.find((other) => other.key === key);
            return (one ? actionsOf(one) : [])
              .filter((action) => action !== "line")
              .map((action) => ({ ...action, stays: /^(Copy|Download|Share)/.test(action.label) }));
          }}
        />
      )}
    </>
  );
}

/** Stands for images that did not arrive. */
const missing: Shown["image"] = { error: { message: NOT_FINISHED } };

/** Shows an image at once, and one that did not arrive when no tab works on its request any more. */
function WhenLeft({ sheet, children }: { readonly sheet: Sheet | undefined; readonly children: ReactNode }) {
  const [isLeft, setIsLeft] = useState(sheet === undefined);
  useEffect(() => {
    if (!sheet) return;
    const gone = new AbortController();
    void untilLeft(sheet, gone.signal).then(() => setIsLeft(true));
    return () => gone.abort();
  }, [sheet]);
  return isLeft && children;
}

/** An image for the lightbox, with its prompt and settings. */
function slideOf({ key, image: { url = "", size }, sheet: { prompt, draft } }: Shown & { key: string }) {
  const { seed } = draft.values;
  const facts = [
    modelName(draft.model),
    size?.replace("x", " × "),
    typeof seed === "number" ? `Seed ${seed}` : undefined,
  ].filter((fact) => fact !== undefined);
  return { key, url, prompt, size, facts };
}

/** Number of images that a request asks for. */
function countOf(request: NonNullable<WallProps["pending"]>["request"]): number {
  return request?.sequential_image_generation_options?.max_images ?? 1;
}

async function copy(text: string, done: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  toast(done);
}

async function download({ image, sheet }: Shown, onGone?: () => void): Promise<void> {
  if (!image.url) return;
  const result = await downloadMedia(image.url, sheet.prompt);
  if (result === "expired") onGone?.();
  const words = downloadWords[result];
  if (words) toast(words);
}

async function share({ image, sheet }: Shown): Promise<void> {
  if (!image.url) return;
  const words = shareWords[await shareMedia(image.url, sheet.prompt)];
  if (words) toast(words);
}

/** Downloads the images of a set, one after the other. */
async function downloadAll(sheet: Sheet): Promise<void> {
  for (const image of sheet.images) await download({ sheet, image });
}

interface Choices extends Pick<WallProps, "onReuse" | "onVary"> {
  readonly onRemove: (shown: Shown) => void;
}

/** Actions on an image. */
function useActions({ onReuse, onVary, onRemove }: Choices) {
  const images = useImageForm();
  const videos = useVideoForm();
  return (shown: Shown): readonly (MenuItem | "line")[] => {
    const { draft, prompt, images: set } = shown.sheet;
    const { url } = shown.image;
    if (!url) return [];
    const count = set.filter((image) => image.url).length;
    return [
      { label: "Reuse settings", icon: <RotateCcw aria-hidden />, onSelect: () => onReuse(draft) },
      { label: "Vary", icon: <Shuffle aria-hidden />, onSelect: () => onVary(draft) },
      {
        label: "Use as reference",
        icon: <ImagePlus aria-hidden />,
        onSelect: () =>
          onReuse({
            ...images,
            values: { ...images.values, image: [...urlsOf(images.values, "image"), url] },
          }),
      },
      {
        label: "Make a video",
        icon: <Clapperboard aria-hidden />,
        onSelect() {
          videos.fill({ model: videos.model, values: { ...videos.values, prompt, first_frame: [url] } });
          openRoute({ room: "videos" });
        },
      },
      "line",
      {
        label: "Copy prompt",
        icon: <Copy aria-hidden />,
        onSelect: () => void copy(prompt, "Prompt copied"),
      },
      { label: "Copy link", icon: <Link aria-hidden />, onSelect: () => void copy(url, "Link copied") },
      { label: "Download", icon: <Download aria-hidden />, onSelect: () => void download(shown) },
      { label: SHARE, icon: <Share aria-hidden />, onSelect: () => void share(shown) },
      ...(count > 1
        ? [
            {
              label: `Download all ${count}`,
              icon: <Download aria-hidden />,
              onSelect: () => void downloadAll(shown.sheet),
            },
          ]
        : []),
      "line",
      { label: "Delete", icon: <Trash2 aria-hidden />, isDanger: true, onSelect: () => onRemove(shown) },
    ];
  };
}
