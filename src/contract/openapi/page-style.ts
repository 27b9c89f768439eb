export const PAGE_STYLE = `
:root{color-scheme:light dark;--fg:#1d2129;--dim:#667080;--line:#e3e6eb;--bg:#fff;--card:#f7f8fa;--link:#0b5cad;
--get:#0b7a4b;--post:#0b5cad;--put:#8a5a00;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--fg:#e6e8eb;--dim:#9aa3af;--line:#2c3138;--bg:#14171b;--card:#1b1f25;--link:#7ab8f5;
--get:#5ccf9a;--post:#7ab8f5;--put:#e0b15c;--delete:#f28b82}}
*{box-sizing:border-box}html{scroll-behavior:smooth}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2.5rem 1rem 6rem}
h1{font-size:1.7rem;margin:0}h1 small{color:var(--dim);font-size:.9rem;font-weight:400}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem}h2 a{color:inherit}h3{font-size:.95rem;margin:1.2rem 0 .3rem}
h4{font-size:.9rem;font-weight:500;margin:.7rem 0 .2rem}p{margin:.4rem 0;max-width:46rem}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
nav{display:flex;flex-wrap:wrap;gap:.4rem 1.1rem;margin:1rem 0;padding:.6rem 0;border-block:1px solid var(--line)}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;margin:.6rem 0}pre code{overflow-wrap:normal}
details{border:1px solid var(--line);border-radius:8px;margin:.45rem 0;background:var(--card)}
summary{cursor:pointer;padding:.55rem .8rem;display:flex;flex-wrap:wrap;align-items:baseline;gap:.15rem .7rem;list-style:none}
summary::-webkit-details-marker{display:none}summary span{color:var(--dim)}details>div{padding:.2rem .9rem .9rem}
summary:focus-visible{outline:2px solid var(--link);border-radius:8px}
b.get,b.post,b.put,b.delete{font:600 12px ui-monospace,monospace;min-width:3.6rem}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.delete{color:var(--delete)}
.s2{color:var(--get)}.s4,.s5{color:var(--delete)}
table{border-collapse:collapse;width:100%;background:var(--bg);border:1px solid var(--line);border-radius:6px}
td{padding:.3rem .55rem;border-top:1px solid var(--line);vertical-align:top}tr:first-child td{border-top:0}
td:first-child{width:34%}td:nth-child(2){color:var(--dim);width:28%}i{color:var(--dim);font-size:.85em}
h4 code{color:var(--dim)}`
