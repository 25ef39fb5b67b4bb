create table measure (name text primary key, value integer not null);
insert into measure values ('multi', 40);
select 'files that are loaded first print nothing' as silence;
