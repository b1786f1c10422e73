"use client";

import type { ImageRequest } from "@sluice/core";
import { Copy, Download, RotateCcw, Trash2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Button, onPressOnce } from "@/components/sluice/button";
import { formatModel } from "@/components/sluice/format";
import { type ImageOrder, type ImageOrders, waitUntilAbandoned } from "@/components/sluice/image-orders";
import { ImageTile } from "@/components/sluice/image-tile";
import { ImageWall, PendingImages } from "@/components/sluice/image-wall";
import { download } from "@/components/sluice/media-frame";
import { imageWords } from "@/components/sluice/media-words";
import type { MenuItem } from "@/components/sluice/popups";
import { toast } from "@/components/sluice/toasts";

const Lightbox = lazy(async () => ({ default: (await import("@/components/sluice/lightbox")).Lightbox }));

/** An image on the wall, with its order. `key` is unique in the gallery. */
export interface ShownImage {
  readonly key: string;
  readonly order: ImageOrder;
  readonly image: ImageOrder["images"][number];
}

interface ImageGalleryProps {
  readonly orders: readonly ImageOrder[];
  /** The orders. The gallery removes deleted images from them. */
  readonly list: Pick<ImageOrders, "put" | "remove">;
  /** Request in flight in this tab: `variables` and `submittedAt` of `useImages`. */
  readonly pending?:
    | { readonly request: ImageRequest | undefined; readonly since: number | undefined }
    | undefined;
  readonly onStop: () => void;
  /** Fills the form with a request. */
  readonly onReuse: (request: ImageRequest) => void;
  /** Sends a request again whose images did not arrive. */
  readonly onRetry: (request: ImageRequest) => void;
  /** Further actions of an image. */
  readonly actions?: (shown: ShownImage) => readonly MenuItem[];
}

/** All images, newest first, with the requests that may be billed and have no image. A click opens an image. */
export function ImageGallery(props: ImageGalleryProps) {
  const { orders, list, pending, onStop, onReuse, onRetry, actions } = props;
  const [open, setOpen] = useState<string>();
  const wall = useRef<HTMLUListElement>(null);
  const shown = orders.flatMap((order) => listImages(order, imageWords.notFinished));
  const remove = ({ order, image, key }: ShownImage) => {
    const rest = order.images.filter((other) => other !== image);
    if (rest.length > 0) list.put({ ...order, images: rest });
    else list.remove(order.id);
    toast(imageWords.removed, { onUndo: () => list.put(order) });
    focusAt(
      wall.current,
      shown.findIndex((other) => other.key === key) + (pending ? countImages(pending.request) : 0),
    );
  };
  const listActions = (shownImage: ShownImage): readonly (MenuItem & { readonly keepsOpen?: boolean })[] => {
    const { prompt } = shownImage.order.request;
    const { url } = shownImage.image;
    const files = url
      ? [
          {
            label: imageWords.download,
            icon: <Download aria-hidden />,
            keepsOpen: true,
            onSelect: () => void download(url, prompt),
          },
        ]
      : [];
    return [
      ...(url ? (actions?.(shownImage) ?? []) : []),
      {
        label: imageWords.reuse,
        icon: <RotateCcw aria-hidden />,
        onSelect: () => onReuse(shownImage.order.request),
      },
      {
        label: imageWords.copyPrompt,
        icon: <Copy aria-hidden />,
        keepsOpen: true,
        onSelect: () => void copy(prompt),
      },
      ...files,
      {
        label: imageWords.remove,
        icon: <Trash2 aria-hidden />,
        isDanger: true,
        onSelect: () => remove(shownImage),
      },
    ];
  };
  const copy = async (prompt: string) => {
    await navigator.clipboard.writeText(prompt);
    toast(imageWords.copied);
  };
  return (
    <>
      <ImageWall label={imageWords.images} list={wall}>
        {(createStyle) => (
          <>
            {pending && (
              <PendingImages
                createStyle={createStyle}
                size={pending.request?.size}
                count={countImages(pending.request)}
                since={pending.since}
                onStop={onStop}
              />
            )}
            {shown.map((shownImage) => (
              <WhenAbandoned key={shownImage.key} order={shownImage.order}>
                <li aria-label={shownImage.order.request.prompt} style={createStyle(readSize(shownImage))}>
                  <ImageTile
                    image={shownImage.image}
                    prompt={shownImage.order.request.prompt}
                    name={nameImage(shownImage)}
                    size={readSize(shownImage)}
                    actions={listActions(shownImage)}
                    onOpen={() => setOpen(shownImage.key)}
                    onDownload={(link) =>
                      void download(shownImage.image.url ?? "", shownImage.order.request.prompt, link.onGone)
                    }
                    onRemove={() => remove(shownImage)}
                  >
                    {shownImage.order.images.length === 0 ? (
                      <Button
                        variant="quiet"
                        disabled={pending !== undefined}
                        {...onPressOnce(() => {
                          list.remove(shownImage.order.id);
                          onRetry(shownImage.order.request);
                        })}
                      >
                        <RotateCcw aria-hidden />
                        {imageWords.retry}
                      </Button>
                    ) : (
                      <Button variant="quiet" onClick={() => onReuse(shownImage.order.request)}>
                        <RotateCcw aria-hidden />
                        {imageWords.reuse}
                      </Button>
                    )}
                  </ImageTile>
                </li>
              </WhenAbandoned>
            ))}
          </>
        )}
      </ImageWall>
      {open !== undefined && (
        <Suspense>
          <Lightbox
            images={shown.flatMap(createSlide)}
            open={open}
            onClose={() => setOpen(undefined)}
            root={document.getElementById("root")}
            listActions={({ key }) => shown.filter((other) => other.key === key).flatMap(listActions)}
          />
        </Suspense>
      )}
    </>
  );
}

function listImages(order: ImageOrder, notFinished: string): readonly ShownImage[] {
  const images = order.images.length > 0 ? order.images : [{ error: { message: notFinished } }];
  return images.map((image, index) => ({ key: `${order.id} ${image.url ?? index}`, order, image }));
}

function createSlide({ key, order: { request }, image: { url, size } }: ShownImage) {
  const details = [formatModel(request.model), size?.replace("x", " × ")].filter(
    (detail) => detail !== undefined,
  );
  return url ? [{ key, url, prompt: request.prompt, size, details }] : [];
}

/** Names an image for screen readers. The images of a set have numbers. */
function nameImage({ order: { images, request }, image }: ShownImage): string {
  return images.length < 2 ? request.prompt : imageWords.ofSet(request.prompt, images.indexOf(image) + 1);
}

/** Size of an image. A failed image has the size of its request. */
function readSize({ order, image }: ShownImage): string | undefined {
  return image.size ?? order.request.size;
}

/** Number of images that a request asks for. */
function countImages(request: ImageRequest | undefined): number {
  return request?.sequential_image_generation_options?.max_images ?? 1;
}

/** Moves the focus to the item in the position of a removed item, after React has removed it. */
function focusAt(list: HTMLElement | null, index: number): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const item = list?.children[Math.min(index, list.children.length - 1)];
    (item ?? document.querySelector("main"))?.querySelector<HTMLElement>("button, textarea")?.focus();
  });
}

/** Shows an order without images once no tab waits for it any more. */
function WhenAbandoned({ order, children }: { readonly order: ImageOrder; readonly children: ReactNode }) {
  const isKnown = order.images.length > 0 || order.isLost === true;
  const [isAbandoned, setIsAbandoned] = useState(false);
  useEffect(() => {
    if (isKnown) return;
    const unmount = new AbortController();
    void waitUntilAbandoned(order, unmount.signal).then(
      () => !unmount.signal.aborted && setIsAbandoned(true),
    );
    return () => unmount.abort();
  }, [order, isKnown]);
  return (isKnown || isAbandoned) && children;
}
