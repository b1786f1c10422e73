import type { ImageRequestOf } from "@sluice/core";
import type { ImageModel } from "@sluice/core/schemas";
import { downloadMedia } from "@sluice/react/app";
import clsx from "clsx";
import {
  CircleAlert,
  Clapperboard,
  Copy,
  Download,
  Ellipsis,
  ImagePlus,
  Link,
  Maximize2,
  RotateCcw,
  Shuffle,
  Square,
  Trash2,
} from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { focusPlace } from "../media/composer.js";
import { LinkedImage, MediaFrame } from "../media/frame.js";
import { useMediaLink } from "../media/link.js";
import { type MediaDraft, urlsOf, useImageForm, useVideoForm } from "../media/use-media-form.js";
import { shortTime } from "../media/words.js";
import { openRoute } from "../routes.js";
import { Button, IconButton } from "../ui/button.js";
import { later } from "../ui/later.js";
import { Menu, type MenuItem, toast } from "../ui/popups.js";
import { useNow } from "../value.js";
import { busyWords, downloadWords, IMAGE_FAILED } from "../words.js";
import { removeImage, type Sheet, type Shown, sidesOf, sizeOf } from "./gallery.js";

const Viewer = later(async () => (await import("./viewer.js")).Viewer, "page");

interface WallProps {
  readonly sheets: readonly Sheet[];
  /** The request in flight. */
  readonly pending:
    | { readonly request: ImageRequestOf<ImageModel> | undefined; readonly since: number | undefined }
    | undefined;
  readonly onStop: () => void;
  readonly onReuse: (draft: MediaDraft<ImageModel>) => void;
  readonly onVary: (draft: MediaDraft<ImageModel>) => void;
}

/** All images, newest first, in columns; a click opens one. */
export function Wall({ sheets, pending, onStop, onReuse, onVary }: WallProps) {
  const [open, setOpen] = useState<string>();
  const { ref, columns, span } = useColumns();
  const remove = (one: Shown) => {
    const place = shown.findIndex(({ image }) => image === one.image);
    toast("Image deleted", { onUndo: removeImage(one) });
    focusPlace(ref.current, place + (pending ? countOf(pending.request) : 0));
  };
  const actionsOf = useActions({ onReuse, onVary, onRemove: remove });
  const shown = sheets.flatMap((sheet) =>
    sheet.images.map((image, at): Shown & { key: string } => ({
      sheet,
      image,
      key: `${sheet.id} ${image.url ?? at}`,
    })),
  );
  return (
    <>
      <ul
        ref={ref}
        aria-label="Images"
        className="grid grid-flow-dense gap-x-4"
        style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gridAutoRows: `${ROW}px` }}
      >
        {pending && <Waiting {...pending} span={span} onStop={onStop} />}
        {shown.map((one) => (
          <li key={one.key} aria-label={one.sheet.prompt} style={span(sizeOf(one))}>
            <Tile
              shown={one}
              actions={actionsOf(one)}
              onOpen={() => setOpen(one.key)}
              onReuse={onReuse}
              onRemove={() => remove(one)}
            />
          </li>
        ))}
      </ul>
      {open !== undefined && (
        <Viewer
          shown={shown.filter(({ image }) => image.url)}
          open={open}
          actionsOf={actionsOf}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

/** Height of a row of the grid, in pixels. Each tile takes as many as its image needs. */
const ROW = 4;
const GAP = 16;
/** Least width of an image, in pixels. */
const LEAST = 320;

function useColumns() {
  const ref = useRef<HTMLUListElement>(null);
  const [width, setWidth] = useState(LEAST);
  useLayoutEffect(() => {
    const list = ref.current;
    if (!list) return;
    // a hidden room has no width: it keeps the last one
    const measure = () => list.clientWidth > 0 && setWidth(list.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(list);
    return () => observer.disconnect();
  }, []);
  const columns = Math.max(1, Math.floor((width + GAP) / (LEAST + GAP)));
  const each = (width - GAP * (columns - 1)) / columns;
  const span = (size: string | undefined) => {
    const [across, down] = sidesOf(size);
    return { gridRowEnd: `span ${Math.ceil(((each * down) / across + GAP) / ROW)}` };
  };
  return { ref, columns, span };
}

interface TileProps {
  readonly shown: Shown;
  readonly actions: readonly (MenuItem | "line")[];
  readonly onOpen: () => void;
  readonly onReuse: WallProps["onReuse"];
  readonly onRemove: () => void;
}

function Tile({ shown, actions, onOpen, onReuse, onRemove }: TileProps) {
  const { sheet, image } = shown;
  const { prompt } = sheet;
  const link = useMediaLink(image.url ?? "");
  const [width, height] = sidesOf(sizeOf(shown));
  const aspectRatio = `${width} / ${height}`;
  if (image.error)
    return (
      <div
        className="flex flex-col items-center justify-center gap-2 rounded-xl border bg-surface p-4 text-center text-sm"
        style={{ aspectRatio }}
      >
        <CircleAlert className="size-5 text-muted" aria-hidden />
        <p>
          <strong className="block font-medium">{IMAGE_FAILED}</strong>
          <span className="text-muted">{image.error.message}</span>
        </p>
        <Delete onRemove={onRemove} />
      </div>
    );
  const isCovered = link.phase !== "loading" && link.phase !== "shown";
  const save = () => void download(shown, link.onGone);
  const openItem = { label: "Open", icon: <Maximize2 aria-hidden />, onSelect: onOpen };
  return (
    <div className="group relative overflow-hidden rounded-xl bg-hover" style={{ aspectRatio }}>
      <MediaFrame
        link={link}
        kind="image"
        caption={prompt}
        onDownload={save}
        element={
          <button
            type="button"
            aria-label={`Open ${prompt}`}
            onClick={onOpen}
            className="block size-full -outline-offset-2"
          >
            <LinkedImage
              link={link}
              src={image.url}
              alt={prompt}
              width={width}
              height={height}
              loading="lazy"
              className="size-full"
            />
          </button>
        }
      >
        <Button look="quiet" onClick={() => onReuse(sheet.draft)}>
          <RotateCcw aria-hidden />
          Reuse settings
        </Button>
        <Delete onRemove={onRemove} />
      </MediaFrame>
      {link.isUsable && (
        <Overlay isOverImage={!isCovered}>
          <p dir="auto" className="line-clamp-2 min-w-0 grow text-sm">
            {!isCovered && prompt}
          </p>
          <span className="pointer-events-auto flex gap-1 text-ink">
            <IconButton look="secondary" label="Download" onClick={save}>
              <Download aria-hidden />
            </IconButton>
            <Menu
              align="end"
              trigger={
                <IconButton look="secondary" label="Actions">
                  <Ellipsis aria-hidden />
                </IconButton>
              }
              items={isCovered ? [openItem, ...actions] : actions}
            />
          </span>
        </Overlay>
      )}
    </div>
  );
}

function Delete({ onRemove }: Pick<TileProps, "onRemove">) {
  return (
    <Button look="quiet" onClick={onRemove}>
      <Trash2 aria-hidden />
      Delete
    </Button>
  );
}

interface OverlayProps {
  /** False where there is no image to see: then the buttons are always there. */
  readonly isOverImage: boolean;
  readonly children: ReactNode;
}

function Overlay({ isOverImage, children }: OverlayProps) {
  return (
    <div
      className={clsx(
        "pointer-events-none absolute inset-x-0 bottom-0 flex items-end gap-2 p-3 pt-10",
        isOverImage &&
          "bg-linear-to-t from-black/80 to-transparent text-white opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 group-has-data-popup-open:opacity-100 pointer-coarse:opacity-100",
      )}
    >
      {children}
    </div>
  );
}

/** The images that are on their way, in their shape. */
function Waiting({
  request,
  since,
  span,
  onStop,
}: NonNullable<WallProps["pending"]> &
  Pick<WallProps, "onStop"> & { readonly span: (size: string | undefined) => object }) {
  const now = useNow(1000);
  const [width, height] = sidesOf(request?.size);
  return Array.from({ length: countOf(request) }, (_, at) => (
    <li key={at} aria-label="Generating" style={span(request?.size)}>
      <div
        className="relative flex flex-col items-center justify-center gap-3 overflow-hidden rounded-xl border bg-surface p-4 text-sm text-muted"
        style={{ aspectRatio: `${width} / ${height}` }}
      >
        <div
          aria-hidden
          className="absolute inset-0 animate-pulse bg-linear-to-br from-accent-soft to-hover"
        />
        <span className="relative tabular-nums">
          {busyWords.images} · {shortTime(now - (since ?? now))}
        </span>
        {at === 0 && (
          <Button className="relative" onClick={onStop}>
            <Square aria-hidden />
            Stop
          </Button>
        )}
      </div>
    </li>
  ));
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
  const words = downloadWords(result);
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
