import { Activity } from "react";
import { RouteContext } from "./routes.js";
import { useRooms } from "./shell/rooms.js";
import { Shell } from "./shell/shell.js";
import { Button } from "./ui/button.js";

/** The rooms of the studio, in their frame. A room that is left keeps its state and its place. */
export function App() {
  const { route, visited, missing, tryAgain } = useRooms();
  return (
    <RouteContext value={route}>
      <Shell>
        {[...visited].map(([name, Room]) => (
          <Activity key={name} mode={name === route.room && !missing ? "visible" : "hidden"}>
            <Room />
          </Activity>
        ))}
        {missing && (
          <div role="alert" className="m-auto flex flex-col items-center gap-4 p-8 text-center">
            <p>This room could not load. Check your connection.</p>
            <Button onClick={tryAgain}>Try again</Button>
          </div>
        )}
      </Shell>
    </RouteContext>
  );
}
