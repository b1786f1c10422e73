import { type ImageResult, redact } from "@sluice/core";
import { useState } from "react";
import { Download } from "../room/download/download.js";

interface PictureProps {
  readonly image: ImageResult["images"][number];
  readonly alt: string;
  readonly place: number;
}

/** One image, or why there is none. */
export function Picture({ image, alt, place }: PictureProps) {
  const [isGone, setGone] = useState(false);
  if (image.error)
    return (
      <p className="blank failed">
        <strong>Image {place} was not made.</strong> {redact(image.error.message)}
      </p>
    );
  const [width, height] = image.size?.split("x").map(Number) ?? [];
  return (
    <figure>
      {isGone ? (
        <p className="blank">Its link does not work any more.</p>
      ) : (
        <img
          src={image.url}
          alt={alt}
          width={width}
          height={height}
          loading="lazy"
          referrerPolicy="no-referrer"
          onError={() => setGone(true)}
        />
      )}
      <figcaption>
        {image.size?.replace("x", " × ") ?? "size unknown"}
        {!isGone && <Download url={image.url} title={alt} what={`image ${place}`} />}
      </figcaption>
    </figure>
  );
}
