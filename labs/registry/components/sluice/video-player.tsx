"use client";

import type { SucceededVideoTask } from "@sluice/core";
import { Play } from "lucide-react";
import { useRef, useState } from "react";
import type { MediaLink } from "@/components/sluice/media-link";
import { videoWords } from "@/components/sluice/media-words";

interface VideoPlayerProps {
  readonly video: SucceededVideoTask;
  readonly label: string;
  /** Image that is shown until the first frame is there. */
  readonly poster: string | undefined;
  readonly link: MediaLink;
}

/** A finished video: its first frame, a silent loop under the pointer, and a player after a press. */
export function VideoPlayer({ video, label, poster, link }: VideoPlayerProps) {
  const element = useRef<HTMLVideoElement>(null);
  const [isOpen, setOpen] = useState(false);
  const preview = (isOn: boolean) => {
    if (isOpen || !element.current || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    // a browser may refuse to play; then the first frame stays
    if (isOn) void element.current.play().catch(() => {});
    else element.current.pause();
  };
  return (
    <div
      className="absolute inset-0"
      onPointerEnter={({ pointerType }) => pointerType === "mouse" && preview(true)}
      onPointerLeave={() => preview(false)}
    >
      <video
        ref={element}
        // the fragment makes browsers show the first frame before anyone presses play
        src={`${video.url}#t=0.01`}
        aria-label={label}
        poster={poster}
        className="size-full bg-secondary object-contain"
        preload="metadata"
        playsInline
        loop={!isOpen}
        muted={!isOpen}
        controls={isOpen}
        onLoadedData={link.onShown}
        onError={link.onFailed}
      />
      {!isOpen && (
        <button
          type="button"
          aria-label={videoWords.play(label)}
          onClick={() => {
            setOpen(true);
            const { current } = element;
            if (!current) return;
            current.currentTime = 0;
            current.focus();
            void current.play().catch(() => {});
          }}
          className="group/play cursor-pointer absolute inset-0 flex items-center justify-center -outline-offset-2"
        >
          <span className="flex size-12 items-center justify-center rounded-full bg-black/60 text-white transition-transform group-hover/play:scale-110">
            <Play className="size-5 translate-x-px fill-current" aria-hidden />
          </span>
        </button>
      )}
    </div>
  );
}
