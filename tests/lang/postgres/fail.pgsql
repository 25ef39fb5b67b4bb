create table item (
  id integer primary key
);
insert into item values (1);
insert into item values (1);
select 'not reached' as result;
