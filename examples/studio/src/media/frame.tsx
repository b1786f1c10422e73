import clsx from "clsx";
import { CircleAlert, Download, RotateCw } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Button } from "../ui/button.js";
import { linkWords, type MediaKind } from "../words.js";
import type { MediaLink } from "./link.js";

interface MediaFrameProps {
  readonly link: MediaLink;
  readonly kind: MediaKind;
  /** Element that shows the file. */
  readonly element: ReactNode;
  /** Name of the file, where nothing else beside the frame says it. */
  readonly caption?: string;
  /** Saves the file. @default no button for it */
  readonly onDownload?: () => void;
  /** Buttons for what is left to do once the file is not to be had any more. */
  readonly children?: ReactNode;
}

/**
 * A place for an image or a film. Where the file can't be shown, it says why, and offers what helps. The element stays
 * below that and loads again.
 */
export function MediaFrame({ link, kind, element, caption, onDownload, children }: MediaFrameProps) {
  const { phase, attempt, isUsable, retry } = link;
  const title = linkWords(phase, kind);
  return (
    <>
      {phase !== "expired" && (
        <div key={attempt} className={clsx("size-full", title && "invisible absolute inset-0")}>
          {element}
        </div>
      )}
      {title && (
        <div className="flex size-full flex-col items-center justify-center-safe gap-2 overflow-y-auto p-4 text-center text-sm">
          <CircleAlert className="size-5 shrink-0 text-muted" aria-hidden />
          <p>
            <strong className="block font-medium">{title}</strong>
            {caption && (
              <span dir="auto" className="line-clamp-2 text-muted">
                {caption}
              </span>
            )}
          </p>
          <span className="flex flex-wrap justify-center gap-1">
            {phase === "unplayable" && onDownload && (
              <Button onClick={onDownload}>
                <Download aria-hidden />
                Download
              </Button>
            )}
            {phase !== "expired" && (
              <Button look="quiet" onClick={retry}>
                <RotateCw aria-hidden />
                Try again
              </Button>
            )}
            {!isUsable && children}
          </span>
        </div>
      )}
    </>
  );
}

interface LinkedImageProps extends ComponentProps<"img"> {
  readonly link: MediaLink;
  readonly alt: string;
}

/** An image that tells its link how it loads. */
export function LinkedImage({ link, alt, ...rest }: LinkedImageProps) {
  return (
    <img alt={alt} referrerPolicy="no-referrer" onLoad={link.onShown} onError={link.onFailed} {...rest} />
  );
}
