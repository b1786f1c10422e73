"use client";

import { CircleAlert, Download, RotateCw } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Button } from "@/components/sluice/button";
import { downloadMedia } from "@/components/sluice/download";
import type { LinkPhase, MediaLink } from "@/components/sluice/media-link";
import { downloadWords, frameWords } from "@/components/sluice/media-words";
import { toast } from "@/components/sluice/toasts";
import { cn } from "@/lib/utils";

/** Kind of the shown file. A preview is optional: the page works without it. */
type MediaKind = "image" | "video" | "preview";

/** Explains why a frame does not show its file. Undefined while it loads or shows the file. */
function describeLink(phase: LinkPhase, kind: MediaKind): string | undefined {
  if (phase === "loading" || phase === "shown") return undefined;
  if (phase === "unloadable") return frameWords.unloadable;
  return phase === "unplayable" ? frameWords.unshowable[kind] : frameWords.gone[kind];
}

interface MediaFrameProps {
  readonly link: MediaLink;
  readonly kind: MediaKind;
  /** Element that shows the file. */
  readonly element: ReactNode;
  /** Name of the file, where nothing else beside the frame says it. */
  readonly caption?: string;
  /** Saves the file. @default no button for it */
  readonly onDownload?: () => void;
  /** Buttons to show when the file is gone. */
  readonly children?: ReactNode;
}

/**
 * A frame for an image or a video. If the file can't be shown, it says why, and offers help. The element stays
 * below that and loads again.
 */
export function MediaFrame({ link, kind, element, caption, onDownload, children }: MediaFrameProps) {
  const { phase, attempt, isUsable, retry } = link;
  const title = describeLink(phase, kind);
  return (
    <>
      {phase !== "expired" && (
        <div key={attempt} className={cn("size-full", title && "invisible absolute inset-0")}>
          {element}
        </div>
      )}
      {title && (
        <MediaNote title={title} text={caption}>
          {phase === "unplayable" && onDownload && (
            <Button onClick={onDownload}>
              <Download aria-hidden />
              {frameWords.download}
            </Button>
          )}
          {phase !== "expired" && (
            <Button variant="quiet" onClick={retry}>
              <RotateCw aria-hidden />
              {frameWords.retry}
            </Button>
          )}
          {!isUsable && children}
        </MediaNote>
      )}
    </>
  );
}

interface MediaNoteProps {
  readonly title: string;
  readonly text?: string | undefined;
  /** True for a problem of the request; false for a file that this page can't show. @default false */
  readonly isError?: boolean;
  /** Buttons to show. */
  readonly children?: ReactNode;
}

/** Shows the reason why an image or a video is missing. */
export function MediaNote({ title, text, isError = false, children }: MediaNoteProps) {
  return (
    <div className="flex size-full flex-col items-center justify-center-safe gap-2 overflow-y-auto p-4 text-center text-sm">
      <CircleAlert
        className={cn("size-5 shrink-0", isError ? "text-destructive" : "text-muted-foreground")}
        aria-hidden
      />
      <p>
        <strong className="block font-medium">{title}</strong>
        {text && (
          <span dir="auto" className="line-clamp-3 text-muted-foreground">
            {text}
          </span>
        )}
      </p>
      <span className="flex flex-wrap justify-center gap-1">{children}</span>
    </div>
  );
}

interface LinkedImageProps extends ComponentProps<"img"> {
  readonly link: MediaLink;
  readonly alt: string;
}

/** An image that tells its link how it loads. */
export function LinkedImage({ link, alt, className, ...rest }: LinkedImageProps) {
  return (
    <img
      alt={alt}
      referrerPolicy="no-referrer"
      onLoad={link.onShown}
      onError={link.onFailed}
      className={cn("transition-opacity", link.phase === "loading" && "opacity-0", className)}
      {...rest}
    />
  );
}

/** Downloads a file. A message says so if the browser saved nothing. `onGone` runs if the link has expired. */
export async function download(url: string, name: string, onGone?: () => void): Promise<void> {
  const result = await downloadMedia(url, name);
  if (result === "expired") onGone?.();
  if (result === "expired" || result === "failed") toast(downloadWords[result]);
}
