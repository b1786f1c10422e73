import type { SucceededVideoTask } from "@sluice/core";
import { useState } from "react";
import { moment } from "../room/use-now.js";

/** A finished video. */
export function Player({ video, name }: { video: SucceededVideoTask; name: string }) {
  const { url, expiresAt } = video;
  const [isGone, setGone] = useState(false);
  return (
    <figure className="player">
      {isGone ? (
        <p className="blank">Its link does not work any more.</p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: nobody wrote captions for what was just made
        <video
          aria-label={name}
          src={url}
          controls
          playsInline
          preload="metadata"
          onError={() => setGone(true)}
        />
      )}
      <figcaption className="hint">
        <span>
          {expiresAt === undefined
            ? "The link does not last: keep a copy."
            : `The link works until ${moment(expiresAt)}: keep a copy.`}
        </span>
        <a href={url} download target="_blank" rel="noreferrer">
          Download
        </a>
      </figcaption>
    </figure>
  );
}
