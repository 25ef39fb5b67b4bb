select 'héllo wörld ✓ 日本語 🎉' as text, length('héllo wörld ✓ 日本語 🎉') as length;
create table "表" ("名" text);
insert into "表" values ('日本語'), ('é'), ('🎉');
select "名", length("名") as n, hex("名") as bytes from "表";
