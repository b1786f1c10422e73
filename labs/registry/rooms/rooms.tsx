"use client";

import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { Button } from "@/components/sluice/button";
import { Toasts } from "@/components/sluice/toasts";
import { Tooltips } from "@/components/sluice/tooltips";
import { ChatRoom } from "./chat-room";
import { ImageRoom } from "./image-room";
import { VideoRoom } from "./video-room";

const rooms = { Chat: ChatRoom, Images: ImageRoom, Videos: VideoRoom };
type RoomName = keyof typeof rooms;
const names = Object.keys(rooms) as RoomName[];

/** The rooms, and the button between light and dark. Requests of a room continue in the others. `children` stand in the header. */
export function Rooms({ children }: { readonly children?: ReactNode }) {
  const [name, setName] = useState<RoomName>("Chat");
  const Room = rooms[name];
  return (
    <div className="flex h-dvh flex-col">
      <header className="flex items-center gap-1 border-b p-2">
        <nav aria-label="Rooms" className="flex grow gap-1">
          {names.map((one) => (
            <Button
              key={one}
              look="quiet"
              aria-current={one === name ? "page" : undefined}
              className="aria-[current=page]:bg-secondary aria-[current=page]:text-foreground"
              onClick={() => setName(one)}
            >
              {one}
            </Button>
          ))}
        </nav>
        {children}
        <ThemeButton />
      </header>
      <main className="flex min-h-0 grow flex-col">
        <h1 className="sr-only">{name}</h1>
        <Room />
      </main>
      <Toasts />
      <Tooltips />
    </div>
  );
}

/** Changes between light and dark. Until it is pressed, it is as the system says. */
function ThemeButton() {
  const isDarkOutside = useSyncExternalStore(watchTheme, isSystemDark, () => false);
  const [chosen, setChosen] = useState<boolean>();
  const isDark = chosen ?? isDarkOutside;
  useEffect(() => {
    document.documentElement.classList.toggle("dark", isDark);
  }, [isDark]);
  return (
    <Button look="quiet" aria-pressed={isDark} onClick={() => setChosen(!isDark)}>
      Dark
    </Button>
  );
}

const DARK = "(prefers-color-scheme: dark)";
const isSystemDark = () => matchMedia(DARK).matches;

function watchTheme(onChange: () => void): () => void {
  const media = matchMedia(DARK);
  media.addEventListener("change", onChange);
  return () => media.removeEventListener("change", onChange);
}
