import { useState } from "react";
import { Chat, type Models } from "../chat/chat";
import { Images } from "./images";
import { Videos } from "./videos";

const names = ["Chat", "Images", "Videos"] as const;

/** The rooms of the app. A request continues while another room is open. */
export function Rooms({ models }: { models: Models }) {
  const [name, setName] = useState<(typeof names)[number]>("Chat");
  return (
    <>
      <nav aria-label="Rooms">
        {names.map((one) => (
          <button key={one} type="button" aria-pressed={one === name} onClick={() => setName(one)}>
            {one}
          </button>
        ))}
      </nav>
      {name === "Chat" && <Chat models={models} />}
      {name === "Images" && <Images />}
      {name === "Videos" && <Videos />}
    </>
  );
}
