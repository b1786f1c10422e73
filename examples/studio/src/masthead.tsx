import type { ReactNode } from "react";
import { chatAddress } from "./conversations/address.js";
import { type Room, rooms, useRoom } from "./rooms.js";
import { ThemeToggle } from "./theme-toggle.js";

/** The bar on top: `leading`, the name, the rooms, what the room below offers, and the theme. */
export function Masthead({ leading, children }: { leading?: ReactNode; children?: ReactNode }) {
  return (
    <header className="masthead">
      {leading}
      <h1 className="brand">
        <img src="/favicon.svg" alt="" width="24" height="24" />
        <span>
          Sluice <em>Studio</em>
        </span>
      </h1>
      <Rooms />
      {children}
      <ThemeToggle />
    </header>
  );
}

function Rooms() {
  const here = useRoom();
  const link = (room: Room, name: string, address: string) => (
    <a key={room} href={address} aria-current={room === here ? "page" : undefined}>
      {name}
    </a>
  );
  return (
    <nav className="rooms" aria-label="Rooms">
      {link("chat", "Chat", chatAddress())}
      {Object.entries(rooms).map(([room, name]) => link(room as Room, name, `#${room}`))}
    </nav>
  );
}
