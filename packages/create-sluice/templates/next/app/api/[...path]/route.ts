import type { Env } from "../../../server/proxy";
import { respond } from "../../../server/respond";

const handle = (request: Request) => respond(request, process.env as unknown as Env);

export { handle as GET, handle as OPTIONS, handle as POST };
