import { render } from "preact";
import { connect } from "./live/session";
import { App } from "./shell/app";
import { followAddress } from "./shell/route";
import "./style.css";

followAddress();
connect();
const root = document.getElementById("console");
if (root) render(<App />, root);
