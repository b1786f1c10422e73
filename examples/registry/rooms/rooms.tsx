"use client";

import { type ReactNode, useEffect, useState } from "react";
import { Button } from "@/components/sluice/button";
import { Tooltips } from "@/components/sluice/tooltips";
import { ChatRoom } from "./chat-room";
import { ImageRoom } from "./image-room";
import { VideoRoom } from "./video-room";

const rooms = { Chat: ChatRoom, Images: ImageRoom, Videos: VideoRoom };
type RoomName = keyof typeof rooms;
const names = Object.keys(rooms) as RoomName[];

/** The rooms, and the button between light and dark. What a room asked for goes on in another one. `children` stand in the header. */
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
      <Tooltips />
    </div>
  );
}

/** Changes between light and dark. At first it is as the system says. */
function ThemeButton() {
  const [isDark, setIsDark] = useState(false);
  useEffect(() => setIsDark(matchMedia("(prefers-color-scheme: dark)").matches), []);
  useEffect(() => {
    document.documentElement.classList.toggle("dark", isDark);
  }, [isDark]);
  return (
    <Button look="quiet" aria-pressed={isDark} onClick={() => setIsDark(!isDark)}>
      Dark
    </Button>
  );
}
